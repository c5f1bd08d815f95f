/* options.c - the options of a kind, other than its sizes, as text: "name=value,name=value" */
#include "kind/kind_registry.h"
#include "file/mapping.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

static const struct { const char *sign; double seconds; } spans[] = {
	{ "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 },
};

/*
 * Numbers are read and written with a point whatever the program's locale says, between these two:
 * a comma would stand for the end of one.
 */
static locale_t plain;

static void make_plain(void)
{
	plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t begin_plain(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_plain);
	return uselocale(plain);
}

static void end_plain(locale_t before)
{
	uselocale(before);
}

static bool is_end(char c)
{
	return c == '\0' || c == ',';
}

static bool parse_name(const struct blm_option *o, const char *text, double *ret,
		       const char **ret_end)
{
	size_t len = strcspn(text, ",");

	for (int i = 0; i <= (int)o->most; i++)
		if (strlen(o->names[i]) == len && !strncmp(o->names[i], text, len)) {
			*ret = i;
			*ret_end = text + len;
			return true;
		}
	return false;
}

/* A number and its unit; *ret_end: after both. */
static bool parse(const struct blm_option *o, const char *text, double *ret, const char **ret_end)
{
	char *end;
	double value = strtod(text, &end);

	if (o->form == BLM_OPTION_NAME)
		return parse_name(o, text, ret, ret_end);
	if (end == text || !isfinite(value))
		return false;
	for (size_t i = 0; i < (o->form == BLM_OPTION_SPAN ? ARRAY_LEN(spans) : 1); i++) {
		size_t len = strlen(spans[i].sign);

		if (!strncmp(end, spans[i].sign, len) && is_end(end[len])) {
			*ret = value * spans[i].seconds;
			*ret_end = end + len;
			return o->form != BLM_OPTION_COUNT || value == floor(value);
		}
	}
	return false;
}

static uint64_t argument_of(const struct blm_option *o, double value)
{
	/* rounded: 8.2 * 1e9 is less than 8200000000 */
	return o->form == BLM_OPTION_SHARE ? blm_bits_of(value)
		: (uint64_t)(o->form == BLM_OPTION_SPAN ? round(value * 1e9) : value);
}

/* The values that the option accepts, for messages. */
static int bad_value(const struct blm_kind *kind, const struct blm_option *o)
{
	char names[256];
	size_t at = 0;

	if (o->form != BLM_OPTION_NAME)
		return blm_fail(-EINVAL, "the option %s of %s filters takes a %s, as in %s=%g",
				o->name, kind->name,
				o->form == BLM_OPTION_COUNT ? "whole number"
				: o->form == BLM_OPTION_SPAN ? "time (seconds, or 15m, 24h, 7d)"
				: "number", o->name, o->usual);
	for (int i = 0; i <= (int)o->most && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
				       o->names[i]);
	return blm_fail(-EINVAL, "the option %s of %s filters is one of: %s", o->name, kind->name,
			names);
}

static int find(const struct blm_kind *kind, const char *name, size_t len)
{
	for (int i = 0; kind->options && kind->options[i].name; i++)
		if (strlen(kind->options[i].name) == len
		    && !strncmp(kind->options[i].name, name, len))
			return i;
	return -1;
}

static void list(const struct blm_kind *kind, char *to, size_t bytes)
{
	size_t at = 0;

	snprintf(to, bytes, "none");
	for (int i = 0; kind->options && kind->options[i].name && at < bytes; i++)
		at += (size_t)snprintf(to + at, bytes - at, "%s%s", i ? ", " : "",
				       kind->options[i].name);
}

static int parse_all(const struct blm_kind *kind, const char *text, uint64_t args[BLM_KIND_ARGS])
{
	for (int i = 0; kind->options && kind->options[i].name; i++)
		args[i] = argument_of(&kind->options[i], kind->options[i].usual);
	while (text && *text) {
		size_t len = strcspn(text, "=,");
		int at = find(kind, text, len);
		const struct blm_option *o = at < 0 ? NULL : &kind->options[at];
		double value;
		char names[256];

		if (!o) {
			list(kind, names, sizeof(names));
			return blm_fail(-EINVAL, "%s filters have no option \"%.*s\"; they have: "
					"%s", kind->name, (int)len, text, names);
		}
		if (text[len] != '=' || !parse(o, text + len + 1, &value, &text))
			return bad_value(kind, o);
		if (!(value >= o->least && value <= o->most))
			return blm_fail(-EINVAL, "the option %s of %s filters is %g to %g, not %g",
					o->name, kind->name, o->least, o->most, value);
		args[at] = argument_of(o, value);
		text += *text == ',';
	}
	return 0;
}

int blm_options_parse(const struct blm_kind *kind, const char *text, uint64_t args[BLM_KIND_ARGS])
{
	locale_t before = begin_plain();
	int r = parse_all(kind, text, args);

	end_plain(before);
	return r;
}

double blm_option_value(const struct blm_option *o, uint64_t argument)
{
	return o->form == BLM_OPTION_SHARE ? blm_double_of(argument) : o->form == BLM_OPTION_SPAN
		? (double)argument / 1e9 : (double)argument;
}

/* A double as the shortest text that is read as the same. */
static int print_number(char *to, size_t bytes, double value)
{
	int digits = 6, n;

	do
		n = snprintf(to, bytes, "%.*g", digits, value);
	while (digits++ < 17 && strtod(to, NULL) != value);
	return n;
}

static int print_value(char *to, size_t bytes, const struct blm_option *o, uint64_t argument)
{
	if (o->form == BLM_OPTION_NAME && argument <= o->most)
		return snprintf(to, bytes, "%s", o->names[argument]);
	return print_number(to, bytes, blm_option_value(o, argument));
}

const char *blm_option_value_text(const struct blm_option *o, uint64_t argument, char buffer[32])
{
	locale_t before = begin_plain();

	print_value(buffer, 32, o, argument);
	end_plain(before);
	return buffer;
}

void blm_options_text(const struct blm_kind *kind, const uint64_t args[BLM_KIND_ARGS],
		      char ret[BLM_OPTIONS_MAX])
{
	locale_t before = begin_plain();
	size_t at = 0;

	ret[0] = '\0';
	for (int i = 0; i < BLM_KIND_ARGS && kind->options && kind->options[i].name
	     && at < BLM_OPTIONS_MAX - 64; i++) {
		at += (size_t)snprintf(ret + at, BLM_OPTIONS_MAX - at, "%s%.32s=", i ? "," : "",
				       kind->options[i].name);
		at += (size_t)print_value(ret + at, BLM_OPTIONS_MAX - at, &kind->options[i],
					  args[i]);
	}
	end_plain(before);
}

bool blm_options_valid(const struct blm_kind *kind, const uint64_t args[BLM_KIND_ARGS])
{
	int i = 0;

	for (; kind->options && kind->options[i].name; i++) {
		double value = blm_option_value(&kind->options[i], args[i]);

		if (!(value >= kind->options[i].least && value <= kind->options[i].most))
			return false;
	}
	for (; i < BLM_KIND_ARGS; i++)
		if (args[i])
			return false;
	return true;
}

BLM_API int blm_option_list(const char *name, size_t i, struct blm_option_info *ret)
{
	const struct blm_kind *kind = name ? blm_kind_by_name(name) : NULL;
	size_t count = 0;

	if (!kind)
		return name ? blm_fail(-ENOENT, "there is no kind \"%s\"", name)
			: blm_must_have(name, "kind");
	while (kind->options && kind->options[count].name)
		count++;
	if (i >= count)
		return blm_fail(-ENOENT, "the kind %s has %zu options", name, count);
	*ret = (struct blm_option_info){
		.name = kind->options[i].name, .summary = kind->options[i].summary,
		.least = kind->options[i].least, .most = kind->options[i].most,
		.usual = kind->options[i].usual, .whole = kind->options[i].form == BLM_OPTION_COUNT,
		.seconds = kind->options[i].form == BLM_OPTION_SPAN,
		.names = kind->options[i].names,
	};
	return 0;
}
