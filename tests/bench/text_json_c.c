/* text_json_c.c - json-c for bench-text, apart because its names are those of jansson, too */
#include "text.h"

#include <json-c/json.h>

size_t by_json_c(const char *line, size_t length)
{
	static struct json_tokener *tokener;
	struct json_object *root, *text = NULL;
	size_t n;

	if (!tokener) {
		tokener = json_tokener_new();
		json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	}
	json_tokener_reset(tokener);
	root = json_tokener_parse_ex(tokener, line, (int)length);
	json_object_object_get_ex(root, "text", &text);
	n = (size_t)json_object_get_string_len(text);
	json_object_put(root);
	return n;
}
