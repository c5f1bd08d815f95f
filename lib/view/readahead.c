/*
 * readahead.c - questions to a filter that is not in memory: its pages are asked for many at a
 * time, not waited for one by one
 *
 * A disk that has a hundred reads to do at once does each in a fraction of the time of one alone.
 * So where a thread had to wait for pages, the pages of the next thousand keys are asked for before
 * the first of them is looked at. That is of use for pages of 4 KiB; where a miss reads 2 MiB, the
 * disk is as fast as it can be, and the filter is in memory soon, if there is room for it.
 */
#include "view/readahead.h"
#include "file/paging.h"
#include "file/os.h"

/* keys between two looks at the count of page faults */
enum { LOOK_FIRST = 64, LOOK_LATER = 4096 };

static _Thread_local struct {
	uint64_t keys, until;	/* asked since the last look; when to look again */
	uint64_t waits;		/* the count then */
	bool cold;
} mine;

static void look_again(const struct blm_disk_use *use, bool soon)
{
	mine.keys = 0;
	mine.until = soon || !mine.until ? LOOK_FIRST : mine.until < LOOK_LATER ? 2 * mine.until
		: mine.until;
	mine.waits = use->waits;
}

/*
 * After this many waits the whole file would have been read several times: it does not stay in
 * memory, because other processes use much, or this process may use little. Then a miss should read
 * no more than it must.
 */
static void count_waits(struct blm_view *view, uint64_t waits)
{
	uint64_t most = 64 + 4 * (view->image.bytes / BLM_HUGE_PAGE);

	if (atomic_fetch_add(&view->waits, waits) + waits > most && !(view->load & BLM_HUGE_PAGES))
		blm_view_choose_pages(view, false);
}

bool blm_waits_for_disk(struct blm_view *view, size_t keys)
{
	struct blm_disk_use use;
	uint64_t waits;

	mine.keys += keys;
	if (!mine.cold && mine.keys >= mine.until) {
		blm_disk_use(&use);
		waits = use.waits - mine.waits;
		look_again(&use, waits);
		if (waits && atomic_load_explicit(&view->huge, memory_order_relaxed))
			count_waits(view, waits);
		else
			mine.cold = waits;
	}
	return mine.cold && keys > 1 && !atomic_load_explicit(&view->huge, memory_order_relaxed);
}

/*
 * Round by round: the i-th place of every key that has one. Those of the round before have been
 * asked for together, and are in memory, or nearly; a question that ends there asks for no more.
 * Return: how many were asked for.
 */
static size_t ask_part(const struct blm_part *part, const struct blm_batch *batch, bool changing)
{
	bool done[BLM_AHEAD] = { false };
	size_t asked = 0, before;
	unsigned i = 0;

	if (!part->kind->probe)
		return 0;
	do {
		before = asked;
		for (size_t k = 0; k < batch->count; k++) {
			struct blm_hashed key = batch_at(batch, k);
			const uint64_t *at;
			uint64_t mask = 0;

			if (!done[k] && !changing && i > 0) {
				at = part->kind->probe(part, &key, i - 1, &mask);
				done[k] = !at || mask & ~load_relaxed(at);
			}
			if (done[k])
				continue;
			at = part->kind->probe(part, &key, i, &mask);
			done[k] = !at;
			if (at)
				blm_pages_want(at, 1);
			asked += at != NULL;
		}
		i++;
	} while (asked > before);
	return asked;
}

void blm_ask_ahead(const struct blm_view *view, const struct blm_batch *batch, bool changing)
{
	struct blm_batch hashed = *batch;
	struct blm_hash hashes[BLM_AHEAD];
	struct blm_disk_use before, after;
	size_t asked = 0;

	if (!hashed.hashes && !wants_keys(hashed.by)) {
		blm_hash_all(batch->by, batch->keys, batch->count, hashes);
		hashed.hashes = hashes;
	}
	blm_disk_use(&before);
	for (unsigned i = 0; i < view->parts; i++)
		asked += ask_part(&view->part[i], &hashed, changing);
	blm_disk_use(&after);
	/* where nearly all was there, asking costs more than it saves */
	if ((after.bytes_read - before.bytes_read) / BLM_PAGE <= asked / 256) {
		mine.cold = false;
		look_again(&after, true);
	}
}
