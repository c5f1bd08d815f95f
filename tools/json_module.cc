/* json_module.cc - json_module.h by the DOM parser of simdjson, which checks all of a text */
#include "json_module.h"

#include <cstring>
#include <new>
#include <simdjson.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

static_assert(JSON_PADDING >= simdjson::SIMDJSON_PADDING, "padding");
static_assert(JSON_DEPTH == simdjson::DEFAULT_MAX_DEPTH, "depth");

/* A parser that one long text made large is replaced at the next short one. */
static constexpr size_t LARGE = 16 << 20;

struct json_parser {
	simdjson::dom::parser simd{JSON_TEXT_MOST};
};

EXPORTED struct json_parser *bloomery_json_new(void)
{
	return new (std::nothrow) json_parser;
}

EXPORTED void bloomery_json_free(struct json_parser *parser)
{
	delete parser;
}

static enum json_fault fault_of(simdjson::error_code code)
{
	switch (code) {
	case simdjson::SUCCESS:
		return JSON_GOOD;
	case simdjson::CAPACITY:
		return JSON_LONG;
	case simdjson::MEMALLOC:
		return JSON_NO_MEMORY;
	case simdjson::DEPTH_ERROR:
		return JSON_DEEP;
	case simdjson::STRING_ERROR:
		return JSON_BAD_STRING;
	case simdjson::NUMBER_ERROR:
		return JSON_BAD_NUMBER;
	case simdjson::UTF8_ERROR:
		return JSON_BAD_UTF8;
	case simdjson::EMPTY:
		return JSON_EMPTY;
	case simdjson::UNESCAPED_CHARS:
		return JSON_CONTROL;
	case simdjson::UNCLOSED_STRING:
		return JSON_UNCLOSED;
	default:
		return JSON_BROKEN;
	}
}

EXPORTED enum json_fault bloomery_json_parse(struct json_parser *parser, const char *text,
					     size_t length, struct json_parts *ret)
{
	simdjson::dom::parser &simd = parser->simd;
	simdjson::dom::element root;
	simdjson::error_code code;

	/* newer versions skip it, and their places count from behind it */
	if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return JSON_BROKEN;
	if (simd.capacity() > LARGE && length < LARGE / 16)
		simd = simdjson::dom::parser(JSON_TEXT_MOST);
	code = simd.parse(text, length, false).get(root);
	if (code == simdjson::SUCCESS || code == simdjson::NUMBER_ERROR) {
		ret->at = simd.implementation->structural_indexes.get();
		ret->count = simd.implementation->n_structural_indexes;
		ret->strings = simd.doc.string_buf.get();
	}
	return fault_of(code);
}
