/*
 * error.c - error messages
 */
#include "base/base.h"
#include "bloomery.h"
#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * Each thread's message. It is in the static TLS block, which has 1,664 bytes for all libraries
 * that are loaded late.
 */
enum { MESSAGE_BYTES = 1024 };
static _Thread_local char text[MESSAGE_BYTES];

/* Names and paths are other people's bytes: one line, and nothing that acts on a terminal. */
int blm_fail(int err, const char *format, ...)
{
	char raw[MESSAGE_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(raw, sizeof(raw), format, ap);
	va_end(ap);
	blm_escape(text, sizeof(text), raw, strlen(raw), "");
	return err;
}

int blm_must_have(bool given, const char *what)
{
	return given ? 0 : blm_fail(-EINVAL, "%s must not be NULL", what);
}

int blm_fail_more(int err, const char *more)
{
	size_t at = strlen(text);

	blm_escape(text + at, sizeof(text) - at, more, strlen(more), "");
	return err;
}

BLM_API const char *blm_error_message(void)
{
	return text;
}

BLM_API const char *blm_strerror(int err)
{
	static const struct { int err; const char *words; } ours[] = {
		{ EBADMSG, "not a Bloomery file, or its header does not add up" },
		{ EPROTONOSUPPORT, "made by a newer version, or with a feature that this one does "
		  "not know" },
		{ ENODATA, "shorter than its header says" },
		{ EOPNOTSUPP, "this kind of filter cannot do that" },
		{ EMEDIUMTYPE, "the filters come from different templates" },
		{ EXFULL, "the filter is full" },
		{ EKEYREVOKED, "was removed, and this kind of filter takes no key again that was" },
		{ ENOKEY, "the secret key of this filter is missing" },
		{ ESTALE, "the filter was dropped, or its file was deleted or displaced" },
		{ EUCLEAN, "damaged, or needs rebuilding" },
		{ ELIBACC, "a library that this needs cannot be loaded" },
		{ ENOTUNIQ, "does not say which hash made it, or a key has two values" },
		{ EDOM, "the exact number of keys is not known" },
		{ ENOSYS, "the system does not tell what is needed to notice a power cut" },
		{ EBUSY, "locked by another process for too long" },
	};

	if (err < 0)
		err = -err;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (ours[i].err == err)
			return ours[i].words;
	return strerror(err);
}

BLM_API const char *blm_version(void)
{
	return BLM_VERSION;
}
