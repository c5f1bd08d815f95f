/*
 * claim.c - bloomery-mpi claim and test: every rank has lines, and the owner of a key's place
 * answers
 *
 * A filter in parts is a folder with the files that `bloomery split G --into N -o F/keys` makes:
 * keys.part-I-of-N for I from 1 to N. Rank (I - 1) % ranks maps part I, so any number of ranks can
 * go on with it. The folder gets its name when all parts are in it. Rank 0
 * of the job that works on the folder locks the file `lock`.
 *
 * A round: (1) each rank reads some lines, hashes them, and sends the hashes to the owners. (2) The
 * owners claim them, in the order of the ranks and lines. (3) The answers come back as bits. (4)
 * Each rank writes its lines that are new. Step 1 of the next round begins only after step 4. So a
 * job that is killed loses at most the lines of one round. No line is ever written twice, because
 * the parts are mapped files, whose bits stay.
 */
#include "jobs.h"
#include "output.h"
#include "params.h"
#include "place.h"
#include "values.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_TRIES = 300 };	/* half a minute */

static const char *output;
static uint64_t batch_lines = 65536, parts_wanted;
static bool create, invert, only_count;

#define OUTPUT_OPTION { 'o', "output", "FILE", "where the lines go; %r is the number of the rank", \
	set_text, &output }

static const struct opt claim_options[] = {
	{ 0, "create", NULL, "make F if there is none, by the options below", set_flag, &create },
	{ 0, "parts", "N", "with --create: in how many parts (default: one for each rank)",
	  set_number, &parts_wanted, 1, BLM_SPLIT_MAX },
	{ 0, "batch", "N", "a rank claims at most N lines before writing them (default: 65536)",
	  set_number, &batch_lines, 1, 1 << 20 },
	OUTPUT_OPTION,
	{ 0 }
};
static const struct opt test_options[] = {
	{ 'v', "invert", NULL, "the lines that F does not contain", set_flag, &invert },
	{ 'c', "count", NULL, "print only how many lines there are", set_flag, &only_count },
	OUTPUT_OPTION,
	{ 0 }
};

struct job {
	const char *folder;
	uint32_t count;			/* of parts */
	struct blm_filter **part;	/* those of this rank; else NULL */
	struct blm_filter *any;		/* one that hashes: a part, or a template */
	struct blm_info info;
	uint64_t hash_id;
	bool claims;
	int lock;
	struct share share;
	struct reader reader;
	struct exchange x;
	struct hashed hashed;		/* the batch that is read */
	uint32_t *came;			/* the parts of the hashes that came from a rank */
	uint64_t yes;
};

/* ---- The folder ---- */

/* As cmd_split.c names it: numbers from 1, all with as many digits. */
static const char *part_name(uint32_t i, uint32_t count)
{
	static char name[64];

	snprintf(name, sizeof(name), "keys.part-%0*u-of-%u", snprintf(NULL, 0, "%u", count), i + 1,
		 count);
	return name;
}

static const char *part_path(const char *folder, uint32_t i, uint32_t count)
{
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, part_name(i, count));
	return path;
}

static bool is_folder(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

/* How many parts the files are of; 0, and FAILED where they are of several numbers. */
static int count_parts(const char *folder, uint32_t *ret)
{
	DIR *dir = opendir(folder);
	uint32_t i, n, count = 0;
	struct dirent *entry;

	if (!dir)
		return broken("%s: %s", folder, strerror(errno));
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "keys.part-%u-of-%u", &i, &n) != 2 || !i || i > n
		    || n > BLM_SPLIT_MAX || strcmp(part_name(i - 1, n), entry->d_name))
			continue;
		if (count && n != count) {
			closedir(dir);
			return broken("%s: has parts of %u and parts of %u; move those that do not "
				      "belong to it", folder, count, n);
		}
		count = n;
	}
	closedir(dir);
	*ret = count;
	return count ? DONE : broken("%s: has no file keys.part-I-of-N; 'bloomery-mpi claim "
				     "--create' makes such a folder", folder);
}

static int make_parts(const char *folder, uint32_t count)
{
	struct blm_params p = params;

	p.sparse = true;
	p.replace = false;
	for (uint32_t i = 0; i < count; i++) {
		struct blm_filter *f;
		int r;

		p.split_part = i;
		p.split_parts = count;
		r = blm_create(&f, NULL, part_path(folder, i, count), &p);
		if (r < 0)
			return fail(r);
		blm_close(f);
	}
	return DONE;
}

/* By rank 0, under another name, so that a folder with some of its parts never has the name. */
static int make_folder(const char *folder, uint32_t count)
{
	char fresh[PATH_MAX];
	int code;

	if (snprintf(fresh, sizeof(fresh), "%s.new-%d", folder, (int)getpid()) >= PATH_MAX - 64)
		return broken("%s: the name is too long", folder);
	if (mkdir(fresh, 0777) < 0)
		return broken("%s: %s", fresh, strerror(errno));
	code = make_parts(fresh, count);
	if (code == DONE && rename(fresh, folder) < 0)
		code = broken("%s: %s", folder, strerror(errno));
	if (code != DONE) {
		for (uint32_t i = 0; i < count; i++)
			unlink(part_path(fresh, i, count));
		rmdir(fresh);
	}
	return code;
}

/*
 * One job at a time, because maps of one file on two machines do not show each other's bits. The
 * ranks of a job that was killed may take a moment to end, so a resumed job waits for them.
 */
static int lock_folder(struct job *job)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/lock", job->folder);
	job->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (job->lock < 0)
		return broken("%s: %s", path, strerror(errno));
	for (int tries = 0; flock(job->lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK
	     && tries < LOCK_TRIES; tries++)
		usleep(100 * 1000);
	if (flock(job->lock, LOCK_EX | LOCK_NB) < 0)
		return broken("%s: %s", path, errno == EWOULDBLOCK
			      ? "another job works on this filter; wait until it ends"
			      : strerror(errno));
	return DONE;
}

static int make_by_options(struct job *job)
{
	struct blm_info info;
	struct blm_filter *f;
	int code = params_check();

	if (code != DONE)
		return code;
	f = common_template(&info);
	job->count = parts_wanted ? (uint32_t)parts_wanted : (uint32_t)ranks;
	if (!has_owners(f))
		all_give_up(misuse("claim: the bits of a key are all over a %s filter, so no rank "
				   "owns them; take --kind blocked, split-block or bitmap",
				   info.kind));
	blm_close(f);
	return rank ? DONE : make_folder(job->folder, job->count);
}

static void open_part(struct job *job, uint32_t i, unsigned flags)
{
	const char *path = part_path(job->folder, i, job->count);
	struct blm_info info = BLM_INFO;
	const uint8_t *secret;

	must(find_secret(&secret));
	must_have(blm_open_keyed(&job->part[i], NULL, path, flags, secret));
	must_have(blm_info(job->part[i], &info));
	if (info.split_parts != job->count || info.split_part != i)
		give_up(broken("%s: split_part, split_parts: the file is part %llu of %llu; put "
			       "the right file there", path,
			       (unsigned long long)info.split_part + !!info.split_parts,
			       (unsigned long long)info.split_parts));
	if (!i)
		job->info = info;
	else if (memcmp(info.template_id, job->info.template_id, sizeof(info.template_id)))
		give_up(broken("%s: template_id: it is no part of the filter that %s is a part of: "
			       "kind, size, hash, seeds or key are others", path,
			       part_name(0, job->count)));
}

/* All ranks look at the first part, and at those of their own. */
static void open_parts(struct job *job, unsigned flags)
{
	job->part = must_alloc(job->count, sizeof(struct blm_filter *));
	open_part(job, 0, rank ? 0 : flags);
	job->any = job->part[0];
	for (uint32_t i = 1; i < job->count; i++)
		if ((int)(i % (uint32_t)ranks) == rank)
			open_part(job, i, flags);
	job->hash_id = blm_hash_id(job->any);
}

/* Options that do not agree with the files are not used: a later run need not repeat the size. */
static int open_folder(struct job *job, const char *name)
{
	uint64_t there;
	int code = DONE;

	job->folder = name;
	there = !rank && is_folder(name);
	from_first(&there, sizeof(there));
	if (!there && !create)
		all_give_up(broken("%s: there is no such folder; 'bloomery-mpi claim --create' "
				   "makes one", name));
	if (!there)
		code = make_by_options(job);
	if (code == DONE && !rank)
		code = count_parts(name, &job->count);
	if (code == DONE && !rank && job->claims)
		code = lock_folder(job);
	code = (int)most_of_all((uint64_t)code);
	from_first(&job->count, sizeof(job->count));
	if (code == DONE)
		open_parts(job, job->claims ? BLM_OPEN_WRITE : 0);
	return code;
}

/* ---- Output ---- */

/* A line of which a killed job wrote a part only was in its hands, so it is lost, not doubled. */
static int drop_torn_line(int fd, const char *path)
{
	off_t end = lseek(fd, 0, SEEK_END), at = end;
	char byte = line_end();

	while (at > 0 && pread(fd, &byte, 1, at - 1) == 1 && byte != line_end())
		at--;
	if (at < end && ftruncate(fd, at) < 0)
		return broken("%s: %s", path, strerror(errno));
	return DONE;
}

static int open_output(bool append)
{
	const char *path;
	int fd;

	if (ranks > 1 && !only_count && (!output || !has_rank(output)))
		return misuse("name a file for the lines of each rank, like -o out.%%r: mpirun "
			      "mixes the lines of ranks that share one");
	speak();
	if (!output || only_count)
		return DONE;
	path = of_rank(output);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
		give_up(broken("%s: %s", path, strerror(errno)));
	must(drop_torn_line(fd, path));
	close(fd);
	return DONE;
}

static void print_answers(struct job *job, struct batch *lines)
{
	for (size_t i = 0; i < (lines->count + 63) / 64; i++) {
		uint64_t word = invert ? ~lines->bits[i] : lines->bits[i];

		if (lines->count - 64 * i < 64)
			word &= (UINT64_C(1) << (lines->count - 64 * i)) - 1;
		job->yes += (uint64_t)__builtin_popcountll(word);
	}
	if (only_count)
		return;
	gather_lines(lines, !invert);
	must(print_gathered(lines));
}

/* ---- Rounds ---- */

/* Some lines of a batch, and the round that asks for them. */
struct asked {
	struct batch lines;
	bool ended;		/* there are no more */
};

struct taking {
	struct batch *batch;
	size_t at;
};

static void take_lines(struct job *job, struct taking *t, struct side *s, struct asked *ret)
{
	size_t count = 0;

	exchange_clear(s);
	if (!t->batch || t->at == t->batch->count) {
		t->batch = reader_next(&job->reader);
		t->at = 0;
		if (t->batch)
			hash_batch(&job->hashed, job->any, t->batch, job->count);
	}
	*ret = (struct asked){ .ended = !t->batch };
	if (!t->batch)
		return;
	while (count < batch_lines && t->at + count < t->batch->count) {
		size_t i = t->at + count;
		int to = (int)(job->hashed.owners[i] % (uint32_t)ranks);

		if (!exchange_put(&job->x, s, to, &job->hashed.hashes[i], (uint32_t)count))
			break;
		count++;
	}
	ret->lines = batch_part(t->batch, t->at, count);
	t->at += count;
}

/* Hashes of one part that follow each other go in one call, so the order of the lines stays. */
static void answer(struct job *job, const struct blm_hash *hashes, size_t count, uint64_t *ret)
{
	uint64_t bits[64];

	memset(ret, 0, (count + 63) / 64 * 8);
	find_owners(job->any, hashes, count, job->count, job->came);
	for (size_t at = 0, some; at < count; at += some) {
		uint32_t part = job->came[at];
		int64_t r;

		for (some = 1; at + some < count && some < 64 * ARRAY_LEN(bits)
		     && job->came[at + some] == part; some++)
			;
		r = job->claims ? blm_claim_hashes(job->part[part], job->hash_id, hashes + at, some,
						   bits)
			: blm_contains_hashes(job->part[part], job->hash_id, hashes + at, some,
					      bits);
		must_have(r);
		for (size_t i = 0; i < some; i++)
			ret[(at + i) / 64] |= (bits[i / 64] >> i % 64 & 1) << (at + i) % 64;
	}
}

/* Words of answers: to rank r at `out` + r * words, as many as its hashes need. */
struct answers {
	size_t words;
	uint64_t *out, *in;
	int *out_counts, *in_counts, *starts;
};

static void answers_begin(struct answers *ret, const struct exchange *x)
{
	size_t words = (x->quota + 63) / 64, n = (size_t)ranks;

	*ret = (struct answers){
		.words = words,
		.out = must_alloc(words * n, 8), .in = must_alloc(words * n, 8),
		.out_counts = must_alloc(n, sizeof(int)), .in_counts = must_alloc(n, sizeof(int)),
		.starts = must_alloc(n, sizeof(int)),
	};
	for (size_t r = 0; r < n; r++)
		ret->starts[r] = (int)(r * words);
}

static void answers_end(struct answers *a)
{
	free(a->out);
	free(a->in);
	free(a->out_counts);
	free(a->in_counts);
	free(a->starts);
}

static void answer_all(struct job *job, struct side *s, struct answers *a)
{
	for (int r = 0; r < ranks; r++) {
		a->out_counts[r] = (s->got_counts[r] + 63) / 64;
		a->in_counts[r] = (s->sent_counts[r] + 63) / 64;
		answer(job, s->in + (size_t)r * job->x.quota, (size_t)s->got_counts[r],
		       a->out + (size_t)r * a->words);
	}
	MPI_Alltoallv(a->out, a->out_counts, a->starts, MPI_UINT64_T, a->in, a->in_counts,
		      a->starts, MPI_UINT64_T, MPI_COMM_WORLD);
}

static void give_answers(const struct job *job, const struct side *s, const struct answers *a,
			 struct batch *lines)
{
	memset(lines->bits, 0, (lines->count + 63) / 64 * 8);
	for (int r = 0; r < ranks; r++)
		for (size_t i = 0; i < (size_t)s->sent_counts[r]; i++) {
			uint32_t line = s->line[(size_t)r * job->x.quota + i];

			lines->bits[line / 64] |= (a->in[(size_t)r * a->words + i / 64] >> i % 64
						   & 1) << line % 64;
		}
}

/* While the hashes of a round are under way, the lines of the next one are read and hashed. */
static void ask_in_rounds(struct job *job)
{
	struct taking taking = { 0 };
	struct answers answers;
	struct asked asked[2];
	double busy = 0, begun = seconds();
	bool last = false;

	exchange_begin(&job->x, 2 * (size_t)batch_lines, true);
	answers_begin(&answers, &job->x);
	job->came = must_alloc(job->x.quota, sizeof(*job->came));
	take_lines(job, &taking, &job->x.side[0], &asked[0]);
	for (unsigned i = 0; !last; i ^= 1) {
		struct side *s = &job->x.side[i];

		busy += seconds() - begun;
		exchange_start(&job->x, s, asked[i].ended, job->reader.keys, busy);
		begun = seconds();
		take_lines(job, &taking, &job->x.side[i ^ 1], &asked[i ^ 1]);
		busy += seconds() - begun;
		exchange_wait(s);
		answer_all(job, s, &answers);
		give_answers(job, s, &answers, &asked[i].lines);
		if (asked[i].lines.count)
			print_answers(job, &asked[i].lines);
		last = s->last;
		show_round(s, last);
		begun = seconds();
	}
	answers_end(&answers);
	exchange_end(&job->x);
}

/* A filter in one file: each rank maps it and asks for itself. */
static void ask_alone(struct job *job)
{
	struct batch *b;

	while ((b = reader_next(&job->reader))) {
		must_have(blm_contains_many(job->any, b->keys, b->count, b->bits));
		print_answers(job, b);
		show_keys(job->reader.keys, false);
	}
}

/* ---- The commands ---- */

static int end(struct job *job)
{
	uint64_t yes, keys = sum_of_all(job->reader.keys);

	for (uint32_t i = 0; i < job->count; i++) {
		if (job->part[i] && job->claims && (int)(i % (uint32_t)ranks) == rank)
			must_have(blm_sync(job->part[i]));
		blm_close(job->part[i]);
	}
	if (!job->count)
		blm_close(job->any);
	tell_skipped(&job->reader);
	yes = sum_of_all(job->yes);
	if (!rank && only_count)
		printf("%llu\n", (unsigned long long)yes);
	else if (!rank && !quiet)
		say("%llu of %llu lines %s", (unsigned long long)yes, (unsigned long long)keys,
		    job->claims ? "were new" : invert ? "are not in it" : "are in it");
	reader_end(&job->reader);
	share_free(&job->share);
	hashed_free(&job->hashed);
	free(job->came);
	free(job->part);
	/* DONE also where there are none: MPI takes any other exit code for a job that failed */
	return DONE;
}

static void begin_reading(struct job *job, char **names, size_t count)
{
	share_files(&job->share, names, count);
	reader_begin(&job->reader, &job->share, names);
}

static int run_claim(int count, char **operands)
{
	struct job job = { .claims = true };
	int code = keys_check();

	if (code == DONE && !create && params_given())
		return misuse("claim: the size and kind of a filter are given with --create only");
	if (code == DONE && !is_path(operands[0]))
		return misuse("claim: %s: a filter in parts is a folder; write its path with a "
			      "'/'", operands[0]);
	if (code == DONE)
		code = params_finish();
	if (code == DONE)
		code = open_output(true);
	if (code == DONE)
		code = open_folder(&job, operands[0]);
	if (code != DONE)
		return code;
	begin_reading(&job, operands + 1, (size_t)count - 1);
	ask_in_rounds(&job);
	return end(&job);
}

static int run_test(int count, char **operands)
{
	struct job job = { 0 };
	uint64_t folder = !rank && is_path(operands[0]) && is_folder(operands[0]);
	int code = keys_check();

	from_first(&folder, sizeof(folder));
	if (code == DONE)
		code = open_output(false);
	if (code == DONE)
		code = folder ? open_folder(&job, operands[0])
			: open_filter(&job.any, operands[0], false, 0);
	if (code != DONE)
		return code;
	begin_reading(&job, operands + 1, (size_t)count - 1);
	if (folder)
		ask_in_rounds(&job);
	else
		ask_alone(&job);
	return end(&job);
}

static const struct opt *const claim_tables[] = { claim_options, size_options, make_options,
						  line_options, progress_of_ranks, quiet_option,
						  key_option, store_option, NULL };
static const struct opt *const test_tables[] = { test_options, line_options, progress_of_ranks,
						 quiet_option, key_option, store_option, NULL };

const struct command cmd_claim = {
	.name = "claim",
	.group = ON_KEYS,
	.summary = "add keys to a filter in parts, and write the lines that were new",
	.operands = "F FILE...",
	.least = 2, .most = -1,
	.notes = "F is a folder with a file for each part. If several ranks have a new key, "
	"exactly one of them writes its line. After a job that was killed run the same command "
	"again: no line is written twice, and at most --batch lines of each rank are lost. "
	"'bloomery join F/keys.part-* -o ./whole' makes one filter of the parts.",
	.example = "mpirun -n 4 bloomery-mpi claim ./seen --create -n 1g -o new.%r /data/urls-*.gz",
	.options = claim_tables,
	.run = run_claim,
};

const struct command cmd_test = {
	.name = "test",
	.group = ON_KEYS,
	.summary = "write the lines that a filter may contain",
	.operands = "F FILE...",
	.least = 2, .most = -1,
	.notes = "F is a filter, which each rank maps, or a folder of parts as 'claim' makes it: "
	"then the owner of a key's place answers.",
	.example = "mpirun -n 4 bloomery-mpi test ./seen -o known.%r /data/urls-*.gz",
	.options = test_tables,
	.run = run_test,
};
