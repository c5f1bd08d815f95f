/* cmd_export.c - bloomery export: a filter as another program's file, or as text */
#include "foreign.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "signals.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *format, *output, *before;
static const struct opt own_options[] = {
	{ 0, "format", "FORMAT", "the format, see 'bloomery formats'", set_text, &format },
	{ 0, "base64", NULL, "the format's text form", set_flag, &foreign.base64 },
	{ 'o', "output", "FILE", "the output file (default: stdout); it appears when it is "
	  "complete", set_text,
	  &output },
	{ 0, "delta", "OLD", "for an exact filter: only what updates have added since OLD",
	  set_text, &before },
	{ 0, "force", NULL, "replace FILE even if it is a filter", set_flag, &foreign.replace },
	{ 0, "power-of-two", NULL, "for parquet: refuse a number of blocks that some readers do "
	  "not accept", set_flag, &foreign.power_of_two },
	{ 0, "redis-key", "KEY", "for redisbloom and redisbloom-cf: write the commands that load "
	  "it into KEY, for redis-cli --pipe", set_text, &foreign.redis_key },
	{ 0, "fresh", NULL, "write a new header, not the one that an imported filter came with",
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
			      "or use --base64");
	if (!terminal)	/* its line would stand among the text */
		progress_of_calls();
	r = blm_export(f, &foreign, write_stdout, NULL);
	progress_end_of_call(r);
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
	progress_of_calls();
	r = blm_export_file(f, &foreign, path);
	progress_end_of_call(r);
	return r < 0 ? fail(r) : DONE;
}

/* A file system without hard links can rename. */
static bool name_it(const char *temporary, const char *path)
{
	if (link(temporary, path) == 0)
		return true;
	return errno != EEXIST && renameat2(AT_FDCWD, temporary, AT_FDCWD, path,
					    RENAME_NOREPLACE) == 0;
}

static int write_delta(const void *bytes, size_t len, const char *temporary, const char *path)
{
	FILE *to = fopen(temporary, "wxe");
	bool good;
	int err;

	if (!to)
		return broken("%s: %s", temporary, strerror(errno));
	good = fwrite(bytes, 1, len, to) == len && fflush(to) == 0 && fsync(fileno(to)) == 0;
	err = good ? 0 : errno;
	if (fclose(to) != 0 && good)
		err = errno;
	if (!err && !name_it(temporary, path))
		err = errno;
	unlink(temporary);
	if (err == EEXIST)
		return broken("%s: exists, and a delta replaces no file: delete the file, or name "
			      "another one", path);
	return err ? broken("%s: cannot write the delta: %s", path, strerror(err)) : DONE;
}

/* A new file, since a delta belongs to one state of the filter. It is named when it is whole. */
static int delta_to_file(const void *bytes, size_t len, const char *path)
{
	char *temporary;
	int code;

	if (asprintf(&temporary, "%s.%d.tmp", path, (int)getpid()) < 0)
		return broken("out of memory");
	code = write_delta(bytes, len, temporary, path);
	free(temporary);
	return code;
}

static int delta_to_stdout(const void *bytes, size_t len)
{
	int r;

	if (isatty(STDOUT_FILENO))
		return misuse("a delta's bytes are not for a terminal: name a file with -o FILE");
	r = write_stdout(NULL, bytes, len);
	if (r == -EPIPE)
		stop_for(SIGPIPE);
	return r < 0 && r != -EPIPE ? broken("standard output: %s", strerror(-r)) : DONE;
}

static int export_delta(const char *name, const char *old_name)
{
	char *names[] = { (char *)name, (char *)old_name };
	struct blm_filter *f[2];
	void *bytes;
	size_t len;
	int code, r;

	if (format || foreign.base64 || foreign.fresh || foreign.replace)
		return misuse("export: with --delta leave out --format, --base64, --fresh and "
			      "--force: a delta has one form and replaces no file");
	code = open_all(f, names, 2, false, BLM_STORE_READ);
	if (code != DONE)
		return code;
	progress_of_calls();
	r = blm_delta_make(f[0], f[1], &bytes, &len);
	progress_end_of_call(r);
	close_all(f, 2);
	if (r < 0)
		return fail(r);
	code = output && strcmp(output, "-") ? delta_to_file(bytes, len, output)
		: delta_to_stdout(bytes, len);
	blm_free(bytes);
	return code;
}

static int run(int count, char **operands)
{
	struct blm_filter *f;
	int code;

	if (before)
		return export_delta(operands[0], before);
	code = open_filter(&f, operands[0], false, BLM_STORE_READ);
	if (code != DONE)
		return code;
	foreign.format = format;
	foreign.mode = params.mode;
	code = output && strcmp(output, "-") ? to_file(f, output) : to_stdout(f);
	blm_close(f);
	return code;
}

static const struct opt *const options[] = { own_options, maker_options, mode_option,
					     progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_export = {
	.name = "export",
	.group = ON_FILTERS,
	.summary = "write a filter as another program's file, or as text",
	.operands = "F",
	.least = 1, .most = 1,
	.notes = "Without --format, the format is the one that F was imported from, or else that "
	"of bloomery. The output does not have the secret of a keyed filter, which is deleted "
	"when the filter is dropped. --delta writes a delta, with which 'bloomery apply' brings a "
	"copy of OLD up to date.",
	.example = "bloomery export seen --format bloomery --base64 -o seen.txt",
	.options = options,
	.run = run,
};
