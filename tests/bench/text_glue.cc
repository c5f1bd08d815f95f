/* text_glue.cc - simdjson for bench-text: all of a line is checked */
#include "text.h"

#include <simdjson.h>

size_t by_simdjson(const char *line, size_t length)
{
	static simdjson::dom::parser parser;
	simdjson::dom::element root;
	std::string_view text;

	if (parser.parse(line, length).get(root) || root["text"].get(text))
		return 0;
	return text.size();
}
