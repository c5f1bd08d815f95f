/* report_text.c - text of others in a page, and numbers as people read them there */
#include "report.h"
#include "../lib/base/escape.h"

void html_text(FILE *out, const char *text)
{
	char part[BLM_ESCAPED_MOST + 8];
	uint32_t point;

	for (unsigned bytes; *text; text += bytes) {
		bytes = blm_character(text, strnlen(text, 4), &point);
		if (!bytes)
			bytes = 1;
		if (bytes == 1 && strchr("&<>\"'", *text)) {
			fprintf(out, "&#%d;", *text);
			continue;
		}
		blm_escape(part, sizeof(part), text, bytes, "");
		fputs(part, out);
	}
}

void html_short(FILE *out, const char *escaped, size_t most)
{
	char text[128];
	size_t at = 0;
	uint32_t point;

	for (size_t i = 0; i < most && escaped[at]; i++) {
		unsigned bytes = blm_character(escaped + at, strnlen(escaped + at, 4),
					       &point);

		bytes = bytes ? bytes : 1;
		if (at + bytes >= sizeof(text))
			break;
		memcpy(text + at, escaped + at, bytes);
		at += bytes;
	}
	text[at] = '\0';
	html_text(out, text);
	if (escaped[at])
		fputs("...", out);
}

const char *show_span(double seconds)
{
	static const struct { double length; const char *one, *many; } units[] = {
		{ YEAR, "year", "years" }, { DAY, "day", "days" }, { HOUR, "hour", "hours" },
		{ 60, "minute", "minutes" }, { 1, "second", "seconds" },
	};
	static char text[40];

	if (seconds > 100 * YEAR)
		return "over 100 years";
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		double n = seconds / units[i].length;

		if (n < 2 && i + 1 < ARRAY_LEN(units))
			continue;
		snprintf(text, sizeof(text), n < 9.95 && i == 0 ? "%.1f %s" : "%.0f %s", n,
			 n >= 0.5 && n < 1.5 ? units[i].one : units[i].many);
		break;
	}
	return text;
}

const char *show_share(double share)
{
	static char text[40];

	snprintf(text, sizeof(text), "%.4g %%", 100 * share);
	return text;
}

const char *show_date(time_t when)
{
	static char text[40];
	struct tm utc;

	if (!gmtime_r(&when, &utc) || !strftime(text, sizeof(text), "%Y-%m-%d", &utc))
		return "unknown";
	return text;
}

const char *show_short(double number)
{
	static const char *const units[] = { "", "k", "m", "g", "t" };
	static char text[40];
	size_t unit = 0;

	for (; number >= 999.5 && unit + 1 < ARRAY_LEN(units); unit++)
		number /= 1000;
	snprintf(text, sizeof(text), "%.3g%s%s", number, unit ? " " : "", units[unit]);
	return text;
}
