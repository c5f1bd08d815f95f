/* sized.c - structs that callers allocate, and whose first member is their size */
#include "base/base.h"
#include "base/sized.h"

enum { GROWTH = 1024 };		/* no struct will grow by more: what says so was not set */

static size_t size_of(const void *s)
{
	size_t size;

	memcpy(&size, s, sizeof(size));
	return size;
}

int blm_sized_check(const void *to, size_t bytes, size_t least, const char *name)
{
	size_t size = size_of(to);

	if (size >= least && size <= bytes + GROWTH && size % sizeof(size) == 0)
		return 0;
	return blm_fail(-EINVAL, "%s.size is %zu; set it to sizeof(struct %s)", name, size, name);
}

int blm_sized_take(void *to, size_t bytes, size_t least, const void *from, const char *name)
{
	size_t size = size_of(from);
	int r = blm_sized_check(from, bytes, least, name);

	if (r < 0)
		return r;
	for (size_t i = bytes; i < size; i++)
		if (((const unsigned char *)from)[i])
			return blm_fail(-E2BIG, "%s: byte %zu is set, and this version of the "
					"library knows only %zu bytes; use a newer one", name, i,
					bytes);
	memset(to, 0, bytes);
	memcpy(to, from, size < bytes ? size : bytes);
	memcpy(to, &bytes, sizeof(bytes));
	return 0;
}

void blm_sized_give(void *to, const void *from, size_t bytes)
{
	const size_t size = size_of(to), most = size < bytes ? size : bytes;

	memcpy((unsigned char *)to + sizeof(size), (const unsigned char *)from + sizeof(size),
	       most - sizeof(size));
	if (size > bytes)
		memset((unsigned char *)to + bytes, 0, size - bytes);
}
