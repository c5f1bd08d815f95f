/*
 * ordered_time.c - no hash: a key is a time, and its place is its second
 *
 * Two forms: seconds since 1970 (UTC), with a sign or none, and what RFC 3339 has. There the time
 * of day can be left out, which is midnight; so can its seconds, and the offset, which is then 0.
 * A fraction of a second is dropped, downwards. Leap seconds are not counted: 23:59:60 is 0:00:00
 * of the next day.
 */
#include "hash/ordered.h"

/* Days since 1970-01-01 in the Gregorian calendar, of any year from 0 on. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400, of_year = (153 * (int64_t)((month + 9) % 12) + 2) / 5
		+ (int64_t)day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static unsigned days_in(int64_t year, unsigned month)
{
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 2 ? 28U + leap : 30 + (month + month / 8) % 2;
}

/* Reads exactly `digits` digits. Return: the byte behind them, or NULL if they are not there. */
static const uint8_t *number(const uint8_t *at, const uint8_t *end, unsigned digits,
			     unsigned *ret)
{
	*ret = 0;
	if (!at || end - at < (ptrdiff_t)digits)
		return NULL;
	for (; digits; digits--, at++) {
		if (*at < '0' || *at > '9')
			return NULL;
		*ret = 10 * *ret + (unsigned)(*at - '0');
	}
	return at;
}

static const uint8_t *sign(const uint8_t *at, const uint8_t *end, char wanted)
{
	return at && at < end && *at == wanted ? at + 1 : NULL;
}

static const uint8_t *skip_fraction(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *digits = sign(at, end, '.');

	if (!digits)
		return at;
	for (at = digits; at < end && *at >= '0' && *at <= '9'; at++)
		;
	return at > digits ? at : NULL;
}

/* HH:MM[:SS[.F]], in seconds. */
static const uint8_t *time_of_day(const uint8_t *at, const uint8_t *end, int64_t *ret)
{
	unsigned hour, minute, second = 0;

	at = number(at, end, 2, &hour);
	at = number(sign(at, end, ':'), end, 2, &minute);
	if (sign(at, end, ':')) {
		at = number(at + 1, end, 2, &second);
		at = skip_fraction(at, end);
	}
	*ret = (int64_t)hour * 3600 + (int64_t)minute * 60 + second;
	return hour < 24 && minute < 60 && second <= 60 ? at : NULL;
}

/* Z, +HH:MM, -HH:MM or nothing, in seconds east of Greenwich. */
static const uint8_t *offset(const uint8_t *at, const uint8_t *end, int64_t *ret)
{
	bool west = sign(at, end, '-') != NULL;
	unsigned hour, minute;

	*ret = 0;
	if (!at || at == end)
		return at;
	if (*at == 'Z' || *at == 'z')
		return at + 1;
	if (!west && *at != '+')
		return NULL;
	at = number(at + 1, end, 2, &hour);
	at = number(sign(at, end, ':'), end, 2, &minute);
	*ret = ((int64_t)hour * 3600 + (int64_t)minute * 60) * (west ? -1 : 1);
	return hour < 24 && minute < 60 ? at : NULL;
}

static bool date_and_time(const uint8_t *at, const uint8_t *end, int64_t *ret)
{
	int64_t seconds = 0, east = 0;
	unsigned year, month, day;

	at = number(at, end, 4, &year);
	at = number(sign(at, end, '-'), end, 2, &month);
	at = number(sign(at, end, '-'), end, 2, &day);
	if (!at || month < 1 || month > 12 || day < 1 || day > days_in(year, month))
		return false;
	if (at < end) {
		if (*at != 'T' && *at != 't' && *at != ' ')
			return false;
		at = time_of_day(at + 1, end, &seconds);
		at = offset(at, end, &east);
	}
	*ret = days_of(year, month, day) * 86400 + seconds - east;
	return at == end;
}

static bool since_1970(const uint8_t *at, const uint8_t *end, int64_t *ret)
{
	bool minus = sign(at, end, '-') != NULL, too_large, whole;
	const uint8_t *digits = at + minus, *behind;
	uint64_t seconds;

	at = ordered_digits(digits, end, &seconds, &too_large);
	behind = skip_fraction(at, end);
	if (at == digits || behind != end || seconds > INT64_MAX)
		return false;
	for (whole = true; at < end; at++)
		whole &= *at == '.' || *at == '0';
	*ret = minus ? -(int64_t)seconds - !whole : (int64_t)seconds;
	return true;
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint8_t *at = key->bytes, *end = at + key->len;
	int64_t time;

	*ret = key->len && (date_and_time(at, end, &time) || since_1970(at, end, &time))
		? ordered_place(by, ordered_signed(time), 0) : ordered_none(by, 0);
}

static const char *refuse(const struct blm_hash *hash)
{
	return ordered_is_none(hash) ? "no time as in RFC 3339 and no number of seconds since 1970"
		: NULL;
}

const struct blm_family blm_family_ordered_time = {
	.id = 36,
	.name = "ordered-time",
	.summary = "none: a key is a time as in RFC 3339 or in seconds since 1970, for ranges of "
	"seconds",
	.bits = 64,
	.seeds = 1, .seed_bits = ORDERED_SEED_BITS,
	.ordered = true,
	.hash = hash, .refuse = refuse,
};
