/* cmd_export.c - bloomery export: a filter as another program's file, or as text */
#include "foreign.h"
#include "params.h"
#include "place.h"
#include "signals.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *format, *output;
static const struct opt own_options[] = {
	{ 0, "format", "FORMAT", "the format, see 'bloomery formats'", set_text, &format },
	{ 0, "base64", NULL, "the format's text form", set_flag, &foreign.base64 },
	{ 'o', "output", "FILE", "where to (default: stdout); the file appears whole", set_text,
	  &output },
	{ 0, "force", NULL, "write also over a filter", set_flag, &foreign.replace },
	{ 0, "power-of-two", NULL, "of parquet: refuse a number of blocks that some readers do not "
	  "take", set_flag, &foreign.power_of_two },
	{ 0, "redis-key", "KEY", "of redisbloom and redisbloom-cf: the commands that load it into "
	  "KEY, for redis-cli --pipe", set_text, &foreign.redis_key },
	{ 0, "fresh", NULL, "a header of today, not the one that an imported filter came with",
	  set_flag, &foreign.fresh },
	{ 0 }
};

static int write_stdout(void *context, const void *bytes, size_t count)
{
	while (count) {
		ssize_t n = write(STDOUT_FILENO, bytes, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes = (const char *)bytes + n;
		count -= (size_t)n;
	}
	return 0;
}

static int to_stdout(const struct blm_filter *f)
{
	bool terminal = isatty(STDOUT_FILENO);
	int r;

	if (terminal && !foreign.base64)
		return misuse("a filter's bytes are not for a terminal: name a file with -o FILE, "
			      "or take --base64");
	r = blm_export(f, &foreign, write_stdout, NULL);
	if (r == -EPIPE)
		stop_for(SIGPIPE);
	if (r == 0 && terminal)
		putchar('\n');
	return r < 0 && r != -EPIPE ? fail(r) : DONE;
}

/*
 * The path may lead to another file than the one that was checked, so no file is created or
 * truncated.
 */
static int to_device(const struct blm_filter *f, const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	bool opened;

	if (fd < 0)
		return broken("%s: %s", path, strerror(errno));
	opened = fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && dup2(fd, STDOUT_FILENO) >= 0;
	close(fd);
	return opened ? to_stdout(f) : broken("%s: was replaced while it was opened; try again",
					      path);
}

/* A device or a pipe is written to; only a file is made. */
static int to_file(const struct blm_filter *f, const char *path)
{
	struct stat st;
	int r;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return to_device(f, path);
	r = blm_export_file(f, &foreign, path);
	return r < 0 ? fail(r) : DONE;
}

static int run(int count, char **operands)
{
	struct blm_filter *f;
	int code = open_filter(&f, operands[0], false, BLM_STORE_READ);

	if (code != DONE)
		return code;
	foreign.format = format;
	foreign.mode = params.mode;
	code = output && strcmp(output, "-") ? to_file(f, output) : to_stdout(f);
	blm_close(f);
	return code;
}

static const struct opt *const options[] = { own_options, maker_options, mode_option, key_option,
					     store_option, NULL };

const struct command cmd_export = {
	.name = "export",
	.group = ON_FILTERS,
	.summary = "write a filter as another program's file, or as text",
	.operands = "F",
	.least = 1, .most = 1,
	.notes = "Without --format it is the one that F was imported from, else our own. The "
	"secret of a keyed filter is not\nin it, and goes when the filter is dropped.",
	.example = "bloomery export seen --format bloomery --base64 -o seen.txt",
	.options = options,
	.run = run,
};
