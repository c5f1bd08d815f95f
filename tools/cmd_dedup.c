/*
 * cmd_dedup.c - bloomery dedup: which blocks of files were seen before, in these files and in runs
 * before
 *
 * S. Quinlan, S. Dorward, "Venti: A New Approach to Archival Storage", FAST 2002: blocks named by
 * their hash, and a filter in front of the index of what is stored.
 */
#include "command.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "seen.h"
#include "signals.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

static uint64_t block_bytes;
static const char *dir;
static bool list, stats;
static const struct opt own_options[] = {
	{ 0, "index", "DIR", "the folder that keeps the hashes of blocks for later runs; it is "
	  "made if it does not exist", set_text, &dir },
	{ 0, "blocks", "BYTES", "the size of a block, like 8Ki, which is 8192 (8K is 8000); "
	  "needed if DIR is new or not given", set_number, &block_bytes, 64, 1 << 26 },
	{ 0, "list", NULL, "print each block that was seen before: file, offset, bytes", set_flag,
	  &list },
	{ 0, "stats", NULL, "say at the end how many blocks the filter left to look up in the "
	  "table", set_flag, &stats },
	{ 0 }
};

enum { READ = 4 << 20 };	/* bytes that are read at once, or one block */

struct count {
	uint64_t blocks, seen, bytes, seen_bytes;
};

struct job {
	struct seen index;
	uint8_t *buffer;
	size_t block, many;	/* bytes; blocks that are read at once */
	struct digest digests[SEEN_MANY];
	bool seen[SEEN_MANY];
	struct count total;
};

/*
 * As many bytes as there is room for, less at the end only; none where we are to stop. Return: how
 * many, or -1 after a message.
 */
static ssize_t read_full(int fd, const char *name, uint8_t *buffer, size_t bytes)
{
	size_t at = 0;
	ssize_t n;

	while (at < bytes && (n = read(fd, buffer + at, bytes - at)) != 0) {
		if (stopping())
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			say("%s: %s", name, strerror(errno));
			return -1;
		}
		at += (size_t)n;
	}
	return (ssize_t)at;
}

static size_t piece_of(const struct job *job, size_t i, size_t bytes)
{
	return bytes - i * job->block < job->block ? bytes - i * job->block : job->block;
}

static void print_seen(const char *name, uint64_t offset, size_t bytes)
{
	if (!json) {
		print_data(name, strlen(name));
		printf("\t%llu\t%zu\n", (unsigned long long)offset, bytes);
		return;
	}
	json_begin();
	json_text("file", name);
	json_count("offset", offset);
	json_count("bytes", bytes);
	json_end();
}

static int look_at(struct job *job, const char *name, size_t bytes, struct count *count)
{
	size_t blocks = (bytes + job->block - 1) / job->block;
	int code;

	for (size_t i = 0; i < blocks; i++)
		crypto_generichash(job->digests[i].bytes, sizeof(job->digests[i].bytes),
				   job->buffer + i * job->block, piece_of(job, i, bytes), NULL, 0);
	code = seen_ask(&job->index, job->digests, blocks, job->seen);
	for (size_t i = 0; i < blocks && code == DONE; i++) {
		size_t piece = piece_of(job, i, bytes);

		if (job->seen[i] && list)
			print_seen(name, count->bytes, piece);
		count->blocks++;
		count->bytes += piece;
		count->seen += job->seen[i];
		count->seen_bytes += job->seen[i] ? piece : 0;
	}
	return code;
}

static void print(const char *name, const struct count *c)
{
	if (list)
		return;
	if (!json) {
		print_data(name ? name : "total", strlen(name ? name : "total"));
		printf("\t%llu blocks, %llu seen before\t%llu bytes, %llu new\n",
		       (unsigned long long)c->blocks,
		       (unsigned long long)c->seen, (unsigned long long)c->bytes,
		       (unsigned long long)(c->bytes - c->seen_bytes));
		return;
	}
	json_begin();
	json_text("file", name);	/* null: all of them */
	json_count("blocks", c->blocks);
	json_count("seen", c->seen);
	json_count("bytes", c->bytes);
	json_count("new_bytes", c->bytes - c->seen_bytes);
	json_end();
}

static int read_file(struct job *job, const char *name)
{
	bool standard = !strcmp(name, "-");
	int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY), code = DONE;
	struct count count = { 0 };
	ssize_t n = 1;

	if (fd < 0)
		return broken("%s: %s", name, strerror(errno));
	while (code == DONE && n > 0) {
		n = read_full(fd, name, job->buffer, job->many * job->block);
		if (n > 0)
			code = look_at(job, name, (size_t)n, &count);
		progress_now(job->total.blocks + count.blocks, job->total.bytes + count.bytes);
	}
	if (!standard)
		close(fd);
	if (code != DONE || n < 0)
		return FAILED;
	if (stopping())		/* the blocks so far are not a whole file */
		return DONE;
	print(name, &count);
	job->total.blocks += count.blocks;
	job->total.seen += count.seen;
	job->total.bytes += count.bytes;
	job->total.seen_bytes += count.seen_bytes;
	return DONE;
}

static int read_files(struct job *job, int count, char **names)
{
	int code = DONE;

	job->block = (size_t)hashes_block_bytes(&job->index.hashes);
	job->many = READ / job->block < 1 ? 1 : READ / job->block > SEEN_MANY ? SEEN_MANY
		: READ / job->block;
	job->buffer = malloc(job->many * job->block);
	if (!job->buffer)
		return broken("out of memory for blocks of %zu bytes", job->block);
	progress_begin(source_total(names, (size_t)count));
	progress_count_in("blocks");
	for (int i = 0; i < count && code == DONE && !stopping(); i++)
		code = read_file(job, names[i]);
	progress_end();
	if (code == DONE && count > 1 && !stopping())
		print(NULL, &job->total);
	free(job->buffer);
	return code;
}

/* ---- Without an index that is named: one for this run ---- */

static int make_own_index(void)
{
	const char *top = secure_getenv("TMPDIR");
	char *name;

	if (asprintf(&name, "%s/bloomery-XXXXXX", top && *top ? top : "/tmp") < 0)
		return broken("out of memory");
	if (!mkdtemp(name)) {
		broken("%s: %s", name, strerror(errno));
		free(name);
		return FAILED;
	}
	dir = name;
	return DONE;
}

static void remove_own_index(void)
{
	static const char *const files[] = { "hashes", "hashes.new", "filter.blm" };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && fd >= 0; i++)
		unlinkat(fd, files[i], 0);
	if (fd >= 0)
		close(fd);
	rmdir(dir);
}

static int run(int count, char **operands)
{
	static struct job job;
	bool own = !dir;
	int code, last;

	if (own && !block_bytes)
		return misuse("dedup: give the size of blocks, --blocks 8Ki, or an index that has "
			      "one, --index DIR");
	catch_signals();
	code = own ? make_own_index() : DONE;
	if (code != DONE)
		return code;
	code = seen_open(&job.index, dir, block_bytes);
	if (code == DONE)
		code = read_files(&job, count, operands);
	last = seen_close(&job.index);
	if (own)
		remove_own_index();
	if (stats && code == DONE && last == DONE)
		say("%llu blocks; %llu looked up in the table, %llu of these not found there",
		    (unsigned long long)job.index.asked,
		    (unsigned long long)job.index.maybe, (unsigned long long)job.index.alarms);
	return code == DONE ? last : code;
}

static const struct opt *const options[] = { own_options, json_option, progress_option,
					     quiet_option, NULL };

const struct command cmd_dedup = {
	.name = "dedup",
	.group = ON_FILTERS,
	.summary = "count the blocks of files that were seen before, in these files and in "
	"earlier runs",
	.operands = "FILE...",
	.least = 1, .most = -1,
	.notes = "A block is known by its hash (BLAKE2b, 256 bits). A block that the filter does "
	"not know is new; for the others the\ntable of all hashes in DIR is asked. A block that "
	"is in DIR is never called new. It is an error if DIR is damaged, or\nhas one of its "
	"files without the table. Without DIR a run knows its own blocks only.",
	.example = "bloomery dedup --index ./blocks --blocks 8Ki monday.img tuesday.img",
	.options = options,
	.run = run,
};
