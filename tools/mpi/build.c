/*
 * build.c - bloomery-mpi build: every rank reads its share of the keys, and rank 0 writes a filter
 *
 * There are four ways:
 *
 *	owners	Hashes go to the rank that owns their place, 16 bytes each. Rank I builds part I of
 *		the filter (blm_part_owners()), and sends its range to rank 0.
 *	reduce	Each rank builds a whole filter of its own keys. Their OR goes to rank 0.
 *	sum	The same for kinds whose cells count: rank 0 adds one filter after the other.
 *	gather	Hashes go to rank 0, 16 bytes each, which builds the filter alone: for cuckoo, and
 *		for kinds that are made from all their keys at once.
 *
 * With R ranks, n keys and m bytes of data the ways move 16 n (R-1)/R + m (R-1)/R, and m
 * bytes. So `reduce` is best for few ranks, and `owners` for many, or where R filters do not fit
 * into the memory of the machines.
 *
 * The file of the new filter has no name until rank 0 has all of it (blm_build_begin()), so a job
 * that dies leaves nothing.
 */
#include "jobs.h"
#include "collect.h"
#include "numbers.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "ranks_model.h"
#include "terms.h"
#include "values.h"

#include <sys/resource.h>
#include <unistd.h>

static const char *way_wanted;
static bool dry_run;
static uint64_t ranks_wanted;
static const struct opt own_options[] = {
	{ 0, "way", "WAY", "owners: send hashes to the rank that owns their place; reduce: a "
	  "filter on each rank, united at the end (default: whichever moves fewer bytes and fits "
	  "into memory)", set_text, &way_wanted },
	{ 0, "dry-run", NULL, "read and write no filter: say which way is taken, how many bytes "
	  "are sent, and how much memory a rank takes", set_flag, &dry_run },
	{ 0, "ranks", "N", "with --dry-run: for N ranks instead of those that run", set_number,
	  &ranks_wanted, 1, 1 << 20 },
	{ 0 }
};

struct job {
	struct blm_filter *template;
	struct blm_info info;
	enum ranks_way way;
	bool owned;			/* can it be WAY_OWNERS? */
	struct blm_build *b;
	struct share share;
	struct reader reader;
	uint64_t hash_id;
	struct hashed hashed;		/* the batch that is read */
	uint64_t moved;			/* bytes that this rank sent to others */
	double begun, built;		/* seconds */
};

/* ---- Which way ---- */

static bool counts_cells(const struct blm_info *info)
{
	return info->cell_bits > 1;
}

/* The least that a machine has, in bytes. */
static uint64_t memory_of_node(void)
{
	uint64_t mine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return UINT64_MAX - most_of_all(UINT64_MAX - mine);
}

static enum ranks_way best_way(const struct blm_info *info, bool owned, int of)
{
	enum ranks_way way = ranks_best_way(info->kind, info->data_bytes, (double)info->capacity,
					    (uint32_t)of);
	uint64_t memory = ranks_cost_of(WAY_REDUCE, info->data_bytes, (double)info->capacity,
					(uint32_t)of).memory;

	if (way == WAY_OWNERS && !owned)
		return WAY_REDUCE;
	/* half of it: the files that are read and written want some too */
	return way == WAY_REDUCE && owned && memory * (uint64_t)on_node > memory_of_node() / 2
		? WAY_OWNERS : way;
}

static int choose_way(struct job *job, int of)
{
	job->owned = has_owners(job->template);
	job->way = best_way(&job->info, job->owned, of);
	if (!way_wanted)
		return DONE;
	if (job->way == WAY_GATHER)
		return misuse("build: --way %s: rank 0 makes a %s filter from the hashes of all "
			      "ranks; leave out --way", way_wanted, job->info.kind);
	if (counts_cells(&job->info))
		return misuse("build: --way %s: a %s filter is the sum of the filters of the "
			      "ranks; leave out --way", way_wanted, job->info.kind);
	if (!strcmp(way_wanted, "reduce"))
		job->way = WAY_REDUCE;
	else if (!strcmp(way_wanted, "owners") && job->owned)
		job->way = WAY_OWNERS;
	else if (!strcmp(way_wanted, "owners"))
		return misuse("build: --way owners: the bits of a key are all over a %s filter, so "
			      "no rank owns them; take --kind %s", job->info.kind,
			      ranks_kinds(WAY_OWNERS));
	else
		return misuse("build: --way %s: there is no such way; write owners or reduce",
			      way_wanted);
	return DONE;
}

static void tell_costs(const struct job *job, int of)
{
	double keys = (double)job->info.capacity;

	printf("%s of %s with %s keys, %d ranks\n", job->info.kind,
	       show_bytes(job->info.data_bytes), show_count(job->info.capacity), of);
	for (enum ranks_way way = WAY_OWNERS; way < WAYS; way++) {
		struct ranks_cost c = ranks_cost_of(way, job->info.data_bytes, keys, (uint32_t)of);

		if (!ranks_way_fits(way, job->info.kind) || (way == WAY_OWNERS && !job->owned))
			continue;
		printf("%c %s: %s sent, %.2f bytes a key; %s of memory a rank\n",
		       way == job->way ? '*' : ' ', ranks_way_names[way],
		       show_bytes((uint64_t)c.moved), c.moved / keys, show_bytes(c.memory));
	}
	printf("rank 0 also maps the new file, %s, whose pages the system can write and free\n",
	       show_bytes(job->info.data_bytes));
	if (job->way == WAY_GATHER)
		printf("rank 0 also takes up to %s for the hashes; more of them are sorted on the "
		       "disk\n", show_bytes(RANKS_SORT));
}

/* ---- Reading and building ---- */

enum { THREADS_MOST = 64 };

/* Rank 0 builds alone, with the processors of the ranks of its machine and with their memory. */
static void begin_gathering(struct job *job, const struct place *place)
{
	const struct blm_build_options options = { .threads = on_node < THREADS_MOST
						   ? (unsigned)on_node : THREADS_MOST,
						   .memory_bytes = RANKS_SORT };

	job->hash_id = blm_hash_id(job->template);
	if (!rank)
		must_have(blm_build_begin(&job->b, place->store, place->name, &params, &options));
}

static void begin_building(struct job *job, const struct place *place)
{
	const struct blm_build_options options = { .memory_bytes = RANKS_BUFFERS };
	struct blm_params p = params;

	if (job->way == WAY_GATHER) {
		begin_gathering(job, place);
		return;
	}
	if (rank) {
		p.sparse = true;
		p.replace = false;
		p.split_part = job->way == WAY_OWNERS ? (uint32_t)rank : 0;
		p.split_parts = job->way == WAY_OWNERS ? (uint32_t)ranks : 0;
	}
	must_have(blm_build_begin(&job->b, rank ? NULL : place->store, rank ? NULL : place->name,
				  &p, &options));
	job->hash_id = blm_build_hash_id(job->b);
}

static void add_keys(struct job *job)
{
	struct batch *b;

	while ((b = reader_next(&job->reader))) {
		must_have(blm_build_add_many(job->b, b->keys, b->count));
		show_keys(&job->reader, false);
	}
	show_keys(&job->reader, true);
}

/* Keys that are hashed and have no place in a round yet. */
struct waiting {
	size_t at, count;
	bool ended;
};

/* As much as a round takes. The other side's messages go on meanwhile. */
static void fill_round(struct job *job, struct exchange *x, struct side *s, struct side *other,
		       struct waiting *w)
{
	exchange_clear(s);
	for (;;) {
		for (; w->at < w->count; w->at++) {
			const struct blm_hash *hash = &job->hashed.hashes[w->at];

			if (!exchange_put(x, s, (int)job->hashed.owners[w->at], hash, 0))
				return;
		}
		exchange_poke(other);
		if (!w->ended) {
			struct batch *b = reader_next(&job->reader);

			w->at = w->count = 0;
			w->ended = !b;
			if (b) {
				hash_batch(&job->hashed, job->template, b, job->way == WAY_GATHER
					   ? 0 : (uint32_t)ranks);
				w->count = b->count;
			}
		}
		if (w->ended)
			return;
	}
}

static void add_received(struct job *job, const struct exchange *x, const struct side *s)
{
	for (int r = 0; r < ranks; r++) {
		const struct blm_hash *from = r == rank ? s->out : s->in;
		uint64_t count = r == rank ? s->sent[r].hashes : (uint64_t)s->got_counts[r];

		if (count)
			must_have(blm_build_add_hashes(job->b, job->hash_id,
						       from + (size_t)r * x->quota,
						       (size_t)count));
	}
}

/*
 * While the hashes of a round are under way, the next round is filled. While the hashes of that one
 * are under way, those that were received are added.
 */
static void exchange_keys(struct job *job)
{
	struct exchange x;
	struct waiting w = { 0 };
	bool last = false;
	double busy = 0;

	exchange_begin(&x, RANKS_ROUND, false);
	x.keeps_own = true;
	for (unsigned round = 0; !last; round++) {
		struct side *s = &x.side[round % 2], *other = &x.side[(round + 1) % 2];
		double begun = seconds();

		fill_round(job, &x, s, other, &w);
		busy += seconds() - begun;
		exchange_wait(other);
		exchange_start(&x, s, w.ended && w.at == w.count, job->reader.keys, busy);
		last = s->last;
		if (round)
			add_received(job, &x, other);
		if (last) {
			exchange_wait(s);
			add_received(job, &x, s);
		}
		show_round(s, last);
	}
	job->moved += x.sent;
	exchange_end(&x);
}

/* ---- The data to rank 0 ---- */

/* Rank 0 keeps its builder until all is in it; the others' filters are done. */
static void bring_together(struct job *job)
{
	struct blm_filter *f = NULL;
	struct collecting to;

	if (job->way == WAY_GATHER) {
		job->built = seconds();
		return;
	}
	if (rank)
		must_have(blm_build_finish(job->b, &f));
	job->built = seconds();
	to = (struct collecting){ .b = job->b, .from = f, .bytes = job->info.data_bytes };
	if (job->way == WAY_REDUCE)
		collect_or(&to);
	else
		collect_ranges(&to, job->way == WAY_OWNERS ? job->template : NULL);
	job->moved += to.moved;
	if (rank)
		blm_close(f);
}

/* ---- The command ---- */

static void report(const struct job *job, uint64_t counted)
{
	struct rusage usage;
	uint64_t keys = sum_of_all(job->reader.keys), moved = sum_of_all(job->moved), most, first;
	double end = seconds();

	tell_skipped(&job->reader);
	getrusage(RUSAGE_SELF, &usage);
	first = rank ? 0 : (uint64_t)usage.ru_maxrss;
	most = most_of_all(rank ? (uint64_t)usage.ru_maxrss : 0);
	if (rank || quiet)
		return;
	printf("%d ranks, %s: %s keys read, %s counted, in %.1f s", ranks,
	       ranks_way_names[job->way], show_count(keys), show_count(counted),
	       end - job->begun);
	printf("; %.1f s of it to %s; %s sent, %.2f bytes a key", end - job->built,
	       job->way == WAY_GATHER ? "make the filter" : "bring the data together",
	       show_bytes(moved), keys ? (double)moved / (double)keys : 0);
	printf("; memory %s of rank 0, at most %s of the others\n", show_bytes(first << 10),
	       show_bytes(most << 10));
}

static uint64_t finish(struct job *job)
{
	struct blm_filter *made;
	uint64_t counted = 0;

	if (!rank) {
		must_have(blm_build_finish(job->b, &made));
		counted = count_of(made);
		blm_close(made);
	}
	rest_until_all();
	return counted;
}

static bool takes_values(const char *name)
{
	const unsigned values = BLM_CAN_BUILD | BLM_CAN_GET;
	struct blm_kind_info kind;

	for (size_t i = 0; name && blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(name, kind.name))
			return (kind.can & values) == values;
	return false;
}

/* The size, if it is asked for. Else it follows from the keys. */
static int plan_gathered(struct job *job)
{
	struct blm_plan plan = { .kind = params.kind };

	if (dry_run && !params.capacity)
		return misuse("build: --dry-run of a %s filter needs its number of keys: give -n",
			      params.kind);
	if (dry_run && blm_plan(&plan, &params) < 0)
		return misuse("%s", own_terms(blm_error_message()));
	job->info = BLM_INFO;
	job->info.kind = params.kind;
	job->info.capacity = params.capacity;
	job->info.data_bytes = plan.data_bytes;
	return DONE;
}

/* A builder takes values with keys only (blm_build_put_many()), and ranks send hashes. */
static int refuse_kind(void)
{
	if (takes_values(params.kind))
		return misuse("build: --kind %s: the ranks send hashes, which have no values; "
			      "use 'bloomery build', with --partition I/N for a part of it",
			      params.kind);
	return misuse("build: --kind %s: the ranks build no such filter; they build %s; "
		      "'bloomery build' makes all kinds on one machine", params.kind,
		      ranks_kinds(WAYS));
}

static int begin(struct job *job)
{
	bool gathers = ranks_way_fits(WAY_GATHER, params.kind);
	int code = gathers ? params_finish() : params_check();

	if (code == DONE && keys_check() != DONE)
		code = USAGE;
	if (code == DONE && !ranks_build(params.kind))
		return refuse_kind();
	if (code == DONE && gathers)
		code = plan_gathered(job);
	if (code != DONE)
		return code;
	job->template = gathers ? hashing_template() : common_template(&job->info);
	return choose_way(job, ranks_wanted ? (int)ranks_wanted : ranks);
}

static int run(int count, char **operands)
{
	struct job job = { .begun = seconds() };
	struct place place = { 0 };
	uint64_t counted;
	int code;

	if (ranks_wanted && !dry_run)
		return misuse("build: --ranks is for --dry-run; mpirun says how many ranks run");
	if (count < 2 && !dry_run)
		return misuse("build: name the files with the keys: ranks do not share standard "
			      "input");
	code = begin(&job);
	if (code == DONE && dry_run && !rank)
		tell_costs(&job, ranks_wanted ? (int)ranks_wanted : ranks);
	if (code == DONE && !dry_run && !rank)
		must(find_place(&place, operands[0], BLM_STORE_CREATE));
	if (code != DONE || dry_run)
		return code;
	speak();
	share_files(&job.share, operands + 1, (size_t)count - 1);
	begin_building(&job, &place);
	reader_begin(&job.reader, &job.share, operands + 1);
	if (job.way == WAY_OWNERS || job.way == WAY_GATHER)
		exchange_keys(&job);
	else
		add_keys(&job);
	bring_together(&job);
	counted = finish(&job);
	report(&job, counted);
	reader_end(&job.reader);
	share_free(&job.share);
	hashed_free(&job.hashed);
	blm_close(job.template);
	return DONE;
}

static const struct opt *const options[] = { own_options, size_options, make_options, file_options,
					     create_options, line_options, progress_of_ranks,
					     quiet_option, key_option, store_option, NULL };

const struct command cmd_build = {
	.name = "build",
	.group = ON_FILTERS,
	.summary = "make one filter from files that the ranks share",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "The data are those of 'bloomery build' with the same --seed, bit for bit, with "
	"any number of ranks. Plain files are cut at lines, packed files go to one rank each. A "
	"file that has %r in its name is one that each rank has of its own. F appears on rank 0 "
	"when it is whole. bloomery-kinds(7) has a table of the kinds. Rank 0 alone makes "
	"cuckoo filters and kinds that are only built. With -n the cells of a cuckoo filter depend "
	"on the number of ranks.",
	.example = "mpirun -n 4 bloomery-mpi build ./seen -n 1g -p 0.001 /data/urls-*.gz",
	.options = options,
	.run = run,
};
