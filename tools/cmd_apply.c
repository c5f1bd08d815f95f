/* cmd_apply.c - bloomery apply: a filter brought up to date by a delta */
#include "place.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const uint64_t most = UINT64_C(1) << 32;

/* All that there is to read, into memory that grows. */
static int read_all(int fd, const char *path, uint8_t **ret, size_t *ret_len)
{
	size_t capacity = 64 << 10;
	uint8_t *bytes = malloc(capacity);
	ssize_t n = 1;

	*ret_len = 0;
	while (bytes && (n = read(fd, bytes + *ret_len, capacity - *ret_len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		*ret_len += (size_t)n;
		if (*ret_len < capacity)
			continue;
		if (capacity >= most)
			break;
		capacity *= 2;
		*ret = realloc(bytes, capacity);
		if (!*ret)
			free(bytes);
		bytes = *ret;
	}
	*ret = bytes;
	if (!bytes)
		return broken("out of memory");
	if (n < 0)
		return broken("%s: %s", path, strerror(errno));
	return n ? broken("%s: a delta of more than 4 GiB is refused: get the filter itself", path)
		: DONE;
}

static int read_delta(const char *path, uint8_t **ret, size_t *ret_len)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO), code;

	*ret = NULL;
	if (fd < 0)
		return broken("%s: %s", path, strerror(errno));
	code = read_all(fd, path, ret, ret_len);
	close(fd);
	return code;
}

static int apply(const char *name, const uint8_t *bytes, size_t len)
{
	const uint8_t *secret;
	struct place place;
	int code = find_secret(&secret), r;

	if (code == DONE)
		code = find_place(&place, name, 0);
	if (code != DONE)
		return code;
	progress_of_calls();
	r = blm_delta_apply(place.store, place.name, secret, bytes, len);
	progress_end_of_call(r);
	return r < 0 ? fail(r) : DONE;
}

static int run(int count, char **operands)
{
	uint8_t *bytes;
	size_t len = 0;
	int code = read_delta(operands[1], &bytes, &len);

	if (code == DONE)
		code = apply(operands[0], bytes, len);
	free(bytes);
	return code;
}

static const struct opt *const options[] = { progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_apply = {
	.name = "apply",
	.group = ON_FILTERS,
	.summary = "bring an exact filter up to date by a delta, in one step",
	.operands = "F DELTA",
	.least = 2, .most = 2,
	.notes = "'bloomery export NEW --delta OLD' makes the delta. F must have the data of "
	"OLD. A copy of OLD has them, under any name. If F\n"
	"has the data of NEW already, nothing changes.",
	.example = "bloomery apply ./revoked ./monday.delta",
	.options = options,
	.run = run,
};
