/* values.c - the text of an option becomes its value, or a line that says why not */
#include "values.h"
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <time.h>

/* An option as a person typed it, most likely. */
#define SHOWN(opt) (opt)->letter ? "-" : "--", \
		   (opt)->letter ? (const char[]){ (opt)->letter, 0 } : (opt)->name

int set_flag(const struct opt *opt, const char *text)
{
	*(bool *)opt->target = true;
	return DONE;
}

int set_text(const struct opt *opt, const char *text)
{
	*(const char **)opt->target = text;
	return DONE;
}

int set_list(const struct opt *opt, const char *text)
{
	struct list *list = opt->target;
	size_t at = strlen(list->text);

	if (at + strlen(text) + 2 > sizeof(list->text))
		return misuse("%s%s: too many of them", SHOWN(opt));
	snprintf(list->text + at, sizeof(list->text) - at, "%s%s", at ? "," : "", text);
	return DONE;
}

static int number(const struct opt *opt, const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = parse_number(text, &value);

	if (r == -EINVAL)
		return misuse("%s%s %s: not a whole number; write it like 10000, 10k, 1.5m, 1e6 or "
			      "4Mi", SHOWN(opt), text);
	if (r < 0 || value < opt->least || value > opt->most)
		return misuse("%s%s %s: out of its range, %llu to %llu", SHOWN(opt), text,
			      (unsigned long long)opt->least,
			      (unsigned long long)opt->most);
	*ret = value;
	return DONE;
}

int set_number(const struct opt *opt, const char *text)
{
	return number(opt, text, opt->target);
}

int set_word(const struct opt *opt, const char *text)
{
	char *end;

	errno = 0;
	*(uint64_t *)opt->target = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return misuse("%s%s %s: not a number from 0 to 2^64 - 1, decimal or 0x...",
			      SHOWN(opt), text);
	return DONE;
}

int set_rate(const struct opt *opt, const char *text)
{
	char *end;
	double rate = strtod(text, &end);

	if (end > text && *end == '%') {
		rate /= 100;
		end++;
	}
	if (end == text || *end || !(rate > 0 && rate < 1) || isspace((unsigned char)*text))
		return misuse("%s%s %s: not a rate between 0 and 1, like 0.001, 0.1%% or 1e-6",
			      SHOWN(opt), text);
	*(double *)opt->target = rate;
	return DONE;
}

int set_mode(const struct opt *opt, const char *text)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (!isdigit((unsigned char)*text) || *end || !mode || mode > 0777)
		return misuse("%s%s %s: not permission bits: octal, 1 to 777, like 0644",
			      SHOWN(opt), text);
	*(unsigned *)opt->target = (unsigned)mode;
	return DONE;
}

int set_range(const struct opt *opt, const char *text)
{
	const char *dots = strstr(text, "..");
	struct range *range = opt->target;
	char first[32];
	int r;

	if (dots && (size_t)(dots - text) >= sizeof(first))
		return misuse("%s%s %s: not a range; write it like 22..32", SHOWN(opt), text);
	snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - text) : (int)sizeof(first) - 1,
		 text);
	r = number(opt, first, &range->first);
	if (r == DONE)
		r = number(opt, dots ? dots + 2 : text, &range->last);
	if (r == DONE && range->first > range->last)
		return misuse("%s%s %s: the range ends before it begins", SHOWN(opt), text);
	return r;
}

int set_seed(const struct opt *opt, const char *text)
{
	struct seeds *seeds = opt->target;
	struct opt one = *opt;

	if (seeds->count == BLM_SEEDS_MAX)
		return misuse("%s%s %s: more than %d seeds", SHOWN(opt), text, BLM_SEEDS_MAX);
	one.target = &seeds->seed[seeds->count];
	seeds->count++;
	return set_word(&one, text);
}

/* 16 bytes, as two little-endian words. */
static int set_key(struct seeds *seeds, const uint8_t key[16])
{
	seeds->count = 2;
	for (int i = 0; i < 2; i++) {
		seeds->seed[i] = 0;
		for (int j = 8; j-- > 0; )
			seeds->seed[i] = seeds->seed[i] << 8 | key[8 * i + j];
	}
	return DONE;
}

/* People write the bytes of a block's hash in the opposite order. */
int set_block_hash(const struct opt *opt, const char *text)
{
	uint8_t shown[32], key[16];

	if (strlen(text) != 64 || !parse_hex(text, 64, shown))
		return misuse("--%s %s: not the hash of a block: 64 hexadecimal digits", opt->name,
			      text);
	for (int i = 0; i < 16; i++)
		key[i] = shown[31 - i];
	return set_key(opt->target, key);
}

int set_hash_key(const struct opt *opt, const char *text)
{
	uint8_t key[16];

	if (strlen(text) != 32 || !parse_hex(text, 32, key))
		return misuse("--%s %s: not a key of 16 bytes: 32 hexadecimal digits", opt->name,
			      text);
	return set_key(opt->target, key);
}

/*
 * A number of keys, or a time. An m is a million elsewhere in the program, and a minute to many:
 * neither is guessed at.
 */
int set_every(const struct opt *opt, const char *text)
{
	static const struct { const char *sign; double seconds;
			      } units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 } };
	struct every *every = opt->target;
	char *end;
	double count = strtod(text, &end);

	if (isdigit((unsigned char)*text) && !strcmp(end, "m") && !strcmp(opt->value, "TIME"))
		return misuse("%s%s %s: not a time; minutes are written %.*smin", SHOWN(opt), text,
			      (int)(end - text), text);
	if (isdigit((unsigned char)*text) && !strcmp(end, "m"))
		return misuse("%s%s %s: %.*s million keys, or minutes? Write %.*sM or %.*smin",
			      SHOWN(opt), text, (int)(end - text), text,
			      (int)(end - text), text, (int)(end - text), text);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (isdigit((unsigned char)*text) && !strcmp(end, units[i].sign) && count > 0
		    && count * units[i].seconds < 1e9) {
			every->seconds = count * units[i].seconds;
			return every->seconds < 1e-3
				? misuse("%s%s %s: at least 0.001s", SHOWN(opt), text) : DONE;
		}
	if (parse_number(text, &every->keys) < 0 || !every->keys)
		return misuse("%s%s %s: not a number of keys, like 100k or 5M, and not a time, "
			      "like 5s, 10min or 1h", SHOWN(opt), text);
	return DONE;
}

/* As strtod(), but 0x10 is a 0, and not 16. */
static double decimal(const char *text, char **ret_end)
{
	if (text[0] == '0' && tolower((unsigned char)text[1]) == 'x') {
		*ret_end = (char *)text + 1;
		return 0;
	}
	return strtod(text, ret_end);
}

int set_span(const struct opt *opt, const char *text)
{
	static const struct { const char *sign; double seconds;
			      } units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "min", 60 },
					    { "h", 3600 }, { "d", 86400 } };
	char *end;
	double count = decimal(text, &end);

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (isdigit((unsigned char)*text) && !strcmp(end, units[i].sign)
		    && count * units[i].seconds >= 1e-3 && count * units[i].seconds <= 3e9) {
			*(uint64_t *)opt->target = (uint64_t)(count * units[i].seconds * 1e9);
			return DONE;
		}
	return misuse("%s%s %s: not a span of time; write it like 90s, 15m, 24h or 7d",
		      SHOWN(opt), text);
}

int set_time(const struct opt *opt, const char *text)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d" };
	char *end;
	double count = decimal(text, &end);

	if (isdigit((unsigned char)*text) && !*end && count >= 1 && count < 1.8e10) {
		*(uint64_t *)opt->target = (uint64_t)(count * 1e9);
		return DONE;
	}
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct tm tm = { 0 };
		const char *rest = strptime(text, forms[i], &tm);
		int day = tm.tm_mday;
		time_t since = timegm(&tm);

		/* timegm() makes 3 March of 31 February */
		if (rest && !*rest && since > 0 && tm.tm_mday == day) {
			*(uint64_t *)opt->target = (uint64_t)since * 1000000000;
			return DONE;
		}
	}
	return misuse("%s%s %s: not a time; write it like 2026-11-26T08:00:00Z or 2026-11-26, both "
		      "in UTC, or as seconds since 1970", SHOWN(opt), text);
}

int set_byte(const struct opt *opt, const char *text)
{
	if (!strcmp(text, "\\t"))
		text = "\t";
	if (strlen(text) != 1)
		return misuse("%s%s '%s': must be one byte, or \\t", SHOWN(opt), text);
	*(char *)opt->target = *text;
	return DONE;
}
