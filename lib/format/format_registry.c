/* format_registry.c - the file formats, from the list in meson.build */
#include "format/format.h"

#define FORMAT(name) extern const struct blm_format blm_format_##name;
BLM_FORMATS
#undef FORMAT

#define FORMAT(name) &blm_format_##name,
static const struct blm_format *const formats[] = { BLM_FORMATS };

const struct blm_format *blm_format_at(size_t i)
{
	return i < ARRAY_LEN(formats) ? formats[i] : NULL;
}

const struct blm_format *blm_format_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

const struct blm_format *blm_format_by_id(uint32_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (formats[i]->id == id)
			return formats[i];
	return NULL;
}

bool blm_format_takes(const struct blm_format *format, const struct blm_family *family)
{
	if (!format->families)
		return true;
	for (size_t i = 0; format->families[i]; i++)
		if (!strcmp(format->families[i], family->name))
			return true;
	return false;
}

bool blm_format_takes_kind(const struct blm_format *format, const struct blm_kind *kind)
{
	static const char *const exact[] = { BLM_EXACT_KIND, NULL };
	const char *const *names = format->kinds ? format->kinds : exact;

	if (!format->families)
		return true;
	for (size_t i = 0; names[i]; i++)
		if (!strcmp(names[i], kind->name))
			return true;
	return false;
}

bool blm_format_takes_scheme(const struct blm_format *format, const struct blm_scheme *scheme)
{
	if (!format->families)
		return true;
	for (size_t i = 0; format->rules && format->rules[i]; i++)
		if (!strcmp(format->rules[i], scheme->name))
			return true;
	return !format->rules && !scheme->id;
}

const char *blm_format_families(const struct blm_format *format, char *buffer, size_t bytes)
{
	size_t at = 0;

	*buffer = '\0';
	for (size_t i = 0; format->families && format->families[i]
	     && at + strlen(format->families[i]) + 3 < bytes; i++) {
		at += (size_t)(stpcpy(buffer + at, i ? ", " : "") - (buffer + at));
		at += (size_t)(stpcpy(buffer + at, format->families[i]) - (buffer + at));
	}
	return buffer;
}

BLM_API int blm_format_list(size_t i, struct blm_format_info *ret)
{
	static _Thread_local char families[256];
	const struct blm_format *f = blm_format_at(i);
	const char *made;

	if (!f)
		return blm_fail(-ENOENT, "there are %zu formats", ARRAY_LEN(formats));
	made = f->kinds ? f->kinds[0] : BLM_EXACT_KIND;
	*ret = (struct blm_format_info){
		.name = f->name, .summary = f->summary, .text = f->text_name,
		.in_place = f->in_place, .limits = f->limits,
		.read_only = f->read_only, .planned = f->plan || !f->families, .states = f->states,
		.built = f->plan && blm_kind_by_name(made)->build,
		.hashes = f->families ? blm_format_families(f, families, sizeof(families)) : NULL,
	};
	return 0;
}
