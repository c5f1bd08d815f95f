/* verify.c - check all of one filter */
#include "handle/handle.h"
#include "stats/tally.h"
#include "file/sigbus.h"
#include "file/two_slots.h"
#include "durable/checkpoint.h"
#include "check/verify.h"
#include "base/phase.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

void blm_found(struct blm_findings *to, const char *file, bool repaired, const char *format, ...)
{
	char what[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	to->found++;
	to->repaired += repaired;
	if (to->tell)
		to->tell(to->context, &(struct blm_finding){ .file = file, .what = what, .repaired =
							     repaired, .lost = to->lost,
							     .name = to->name });
	to->lost = false;
}

const char *blm_reason_of(const char *message, const char *file)
{
	size_t bytes = strlen(file);

	return strncmp(message, file, bytes) || strncmp(message + bytes, ": ", 2) ? message
		: message + bytes + 2;
}

void blm_found_broken(struct blm_findings *to, const char *file)
{
	blm_found(to, file, false, "%s", blm_reason_of(blm_error_message(), file));
}

bool blm_is_damage(int err)
{
	return err == -EBADMSG || err == -ENODATA || err == -EPROTONOSUPPORT || err == -EUCLEAN;
}

/*
 * The first bit that is set and no cell's, so that no writer sets it: the last bits of a part, and
 * the bits of a word that are left of its cells.
 */
static bool find_padding(const struct blm_part *part, uint64_t *ret)
{
	const uint64_t *words = (const uint64_t *)part->bytes;
	uint64_t bits = part->shape.bytes * 8, left = left_of_word(part);

	for (uint64_t i = 0; left && i < part->shape.bytes / 8; i++)
		if (load_relaxed(&words[i]) & htole64(left)) {
			*ret = 64 * i + (unsigned)__builtin_ctzll(le64toh(load_relaxed(&words[i]))
				& left);
			return true;
		}
	for (uint64_t bit = padding_from(part); bit < bits; bit++)
		if (is_padding(part, bit) && le64toh(load_relaxed(&words[bit / 64])) >> bit % 64
		    & 1) {
			*ret = bit;
			return true;
		}
	return false;
}

static void verify_padding(const struct blm_part *part, unsigned i, const char *file,
			   struct blm_findings *to)
{
	uint64_t bit;

	if (find_padding(part, &bit))
		blm_found(to, file, false, "part %u: bit %llu is set, but belongs to no cell (m is "
			  "%llu)", i, (unsigned long long)bit,
			  (unsigned long long)part->shape.cells);
}

static void verify_slots(const struct blm_view *view, const char *file, struct blm_findings *to)
{
	int damaged = blm_syncs_lost(live_of(view), view->constant.uuid);

	if (damaged)
		blm_found(to, file, false, "%s damaged: how much of it was synced is not known; "
			  "sync it",
			  damaged == 2 ? "both sync records are" : "its only sync record is");
	if (blm_syncs_contradict(live_of(view), view->constant.uuid))
		blm_found(to, file, false, "its two sync records contradict each other: neither is "
			  "the later one; the record that claims less is used: sync it");
}

static bool is_impossible(uint64_t epoch)
{
	return epoch > BLM_EPOCH_MAX;
}

/*
 * An epoch below that of the last sync, or below `written`, is possible in a copy made during
 * syncs; writers mend it.
 */
static void verify_words(const struct blm_view *view, const char *file, struct blm_findings *to)
{
	const struct blm_live *live = live_of(view);
	uint64_t epoch = load_acquire(&live->epoch.word),
		written = load_acquire(&live->written.word);
	struct blm_sync_record last = { 0 };

	blm_last_sync(live, view->constant.uuid, &last);
	if (state_of(load_acquire(&live->state.word)) > BLM_YIELDING)
		blm_found(to, file, false, "state %u does not exist",
			  (unsigned)state_of(load_acquire(&live->state.word)));
	if (!epoch)
		blm_found(to, file, false, "epoch 0: impossible, because epochs begin at 1");
	if (is_impossible(epoch) || is_impossible(written) || is_impossible(le64toh(last.epoch)))
		blm_found(to, file, false, "epoch %llu, written in %llu, synced in %llu: "
			  "impossible; it can be read, not changed",
			  (unsigned long long)epoch, (unsigned long long)written,
			  (unsigned long long)le64toh(last.epoch));
}

struct blocks {
	struct blm_view *view;
	const char *file;
	bool repair;
	unsigned filled;
	struct blm_findings *to;
};

/*
 * An exclusive owner (exclusive.c) stores whole words, so it could clear bits that are set here. A
 * later owner waits for BLM_LOCK_SYNC. 1; 0: there is an owner, so nothing was done.
 */
static int fill_block(struct blm_view *view, const struct blm_damage *d)
{
	int r = blm_lock_syncing(view);

	if (r < 0)
		return r;
	r = !blm_ofd_held(view->image.fd, BLM_LOCK_EXCLUSIVE);
	if (r)
		blm_blocksum_fill(view, d);
	blm_unlock_syncing(view);
	return r;
}

static const char *why_not_filled(const struct blm_view *view)
{
	return blm_ofd_held(view->image.fd, BLM_LOCK_EXCLUSIVE)
		? "; another handle has opened it exclusively: close that handle, then repair"
		: "; it cannot be repaired: put a copy in its place, or make it anew from its keys "
		"with blm_build_begin() or blm_rebuild()";
}

static int tell_block(void *context, const struct blm_damage *d)
{
	struct blocks *b = context;
	bool sealed = le64toh(b->view->constant.flags) & BLM_FLAG_SEALED;
	/* more ones are no damage where they are bits of keys that are in it */
	int fill = b->repair && kind_only_sets(b->view->root.kind)
		&& blm_part_counts(b->view, d->part) > 0;
	char what[80];

	if (fill)
		fill = fill_block(b->view, d);
	if (fill < 0)
		return fill;
	snprintf(what, sizeof(what), d->ones < d->recorded ? "of %llu bits only %llu are left"
		 : sealed ? "not as it was sealed"
		 : "as many bits as recorded, but others", (unsigned long long)d->recorded,
		 (unsigned long long)d->ones);
	b->filled += (unsigned)fill;
	blm_found(b->to, b->file, fill, "part %u, block %llu, bytes %llu to %llu: damaged, %s%s",
		  d->part, (unsigned long long)d->block,
		  (unsigned long long)d->from, (unsigned long long)d->to - 1, what, fill
		  ? "; all are set now, so that no key is denied"
		  : b->repair ? why_not_filled(b->view) : "");
	return 0;
}

static int tell_image(void *context, const struct blm_damage *d)
{
	struct blocks *b = context;

	blm_found(b->to, b->file, false, "checkpoint image, block %llu, bytes %llu to %llu: "
		  "damaged; a power cut could lose keys: copy the filter",
		  (unsigned long long)d->block, (unsigned long long)d->from,
		  (unsigned long long)d->to - 1);
	return 0;
}

/*
 * The false-positive rate with blocks full of ones; not a finding, because it is no damage any
 * more.
 */
static int tell_rate(const struct blocks *b)
{
	struct blm_tally *tally = calloc(b->view->parts, sizeof(*tally));
	const struct blm_view *view = b->view;
	int r = tally ? 0 : blm_fail(-ENOMEM, "%s: out of memory", b->file);

	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = blm_union_tally(&view, 1, i, &tally[i]);
	if (r == 0 && view->root.kind->exact)
		blm_found(b->to, b->file, true, "%u damaged %s full of ones: numbers that were "
			  "never added are in it now", b->filled,
			  b->filled == 1 ? "block is" : "blocks are");
	else if (r == 0)
		blm_found(b->to, b->file, true, "%u damaged %s full of ones: the false-positive "
			  "rate is %.3g now", b->filled,
			  b->filled == 1 ? "block is"
			  : "blocks are", blm_rate_of_parts(view, tally));
	free(tally);
	return r;
}

/* All blocks of a sealed file were recorded. */
static void verify_all_known(const struct blm_view *view, uint64_t known, const char *file,
			     struct blm_findings *to)
{
	uint64_t first, blocks = blm_blocksum_owned(view, &first);

	for (unsigned i = 1; i < view->parts; i++)
		blocks += blocks_of_part(view->part[i].shape.bytes);
	if (le64toh(view->constant.flags) & BLM_FLAG_SEALED && known < blocks)
		blm_found(to, file, false, "the records of %llu blocks are damaged, so these "
			  "blocks cannot be compared with what was sealed",
			  (unsigned long long)(blocks - known));
}

static int write_back(struct blm_view *view, const char *file)
{
	int r = blm_lock_syncing(view);

	if (r < 0)
		return r;
	r = blm_flush(view, view->image.map, view->image.bytes);
	blm_unlock_syncing(view);
	return r < 0 ? blm_fail(r, "%s: writing back what was repaired failed: %s", file,
				strerror(-r)) : 0;
}

int blm_verify_view(struct blm_view *view, const char *file, bool repair, struct blm_findings *to)
{
	const int left = to->found - to->repaired;
	struct blocks blocks = { .view = view, .file = file, .repair = repair, .to = to };
	const uint64_t end = blm_phase_done() + view->image.bytes;
	int64_t known;
	int r = 0;

	verify_slots(view, file, to);
	for (unsigned i = 0; i < view->parts; i++)
		verify_padding(&view->part[i], i, file, to);
	verify_words(view, file, to);
	known = blm_blocksum_check(view, tell_block, &blocks);
	if (known < 0)
		return (int)known;
	verify_all_known(view, (uint64_t)known, file, to);
	if (has_checkpoint(view))
		blm_checkpoint_check(view, tell_image, &blocks);
	if (kind_has_checkpoint(view->root.kind) && part_is_torn(&view->root))
		blm_found(to, file, false, "is a copy that was made byte by byte during changes: "
			  "it may lack keys, and removes none; blm_rebuild() makes it anew from "
			  "its keys");
	if (blm_sigbus_hit(view->image.map))
		blm_found(to, file, false, "was truncated, or could not be read, during the check: "
			  "only a part of it was checked");
	if (blocks.filled)
		r = write_back(view, file);
	/* the rest was reported already */
	if (r == 0 && blocks.filled && to->found - to->repaired == left)
		r = (int)blm_blocksum_check(view, tell_block, &(struct blocks){ .view = view,
			.file = file, .to = to }) < 0 ? -ENOMEM : 0;
	blm_phase_at(end);
	return r < 0 ? r : blocks.filled ? tell_rate(&blocks) : 0;
}

/* ISO 8601, in UTC. */
static const char *time_of(uint64_t nanoseconds, char ret[32])
{
	time_t seconds = (time_t)(nanoseconds / 1000000000);
	struct tm tm;

	if (!nanoseconds || !gmtime_r(&seconds, &tm)
	    || !strftime(ret, 32, "synced %Y-%m-%dT%H:%M:%SZ", &tm))
		strcpy(ret, "never synced");
	return ret;
}

void blm_verify_age(const struct blm_view *view, const char *file, bool accepted,
		    struct blm_findings *to)
{
	const struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };
	char times[2][32];

	if (!__atomic_load_n(&view->told.epoch, __ATOMIC_ACQUIRE))
		return;
	blm_last_sync(live, view->constant.uuid, &last);
	blm_found(to, file, accepted, "its file is older than the catalog: the file has %llu keys, "
		  "%s, the catalog %llu, %s; keys that were added in between are gone%s",
		  (unsigned long long)blm_counted_keys(view), time_of(le64toh(last.time), times[0]),
		  (unsigned long long)view->told.keys, time_of(view->told.synced, times[1]),
		  accepted ? ", and the catalog follows the file"
		  : ": put the newer file back, or repair it with blm_verify(): the catalog "
		  "follows the file");
}

/*
 * The name and labels of one filter. In a store they are compared with the catalog (store_check.c).
 */
static int verify_name(const struct blm_view *view, const char *file, struct blm_findings *to)
{
	const struct blm_record *record = view->image.header->record;
	struct blm_record *copy = malloc(sizeof(*copy));

	if (!copy)
		return blm_fail(-ENOMEM, "%s: out of memory", file);
	if ((record[0].sequence || record[1].sequence)
	    && !blm_last_record(view->image.header, view->constant.uuid, copy))
		blm_found(to, file, false, "both records of its name in a store are damaged: "
			  "repair the store with blm_store_verify()");
	else if (blm_records_contradict(view->image.header, view->constant.uuid))
		blm_found(to, file, false, "its two name records contradict each other: repair the "
			  "store with blm_store_verify()");
	free(copy);
	return 0;
}

static bool is_left(int folder, const char *left)
{
	return faccessat(folder, left, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A replacer makes that file under the lock, so there is none while this thread holds the lock. */
static bool remove_left(struct blm_view *view, int folder, const char *left)
{
	bool removed = false;

	if (blm_lock_exclusive(&view->lock, view->image.fd) < 0)
		return false;
	removed = unlinkat(folder, left, 0) == 0;
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return removed;
}

/* Files, of filters or not, that were to come into this folder, and whose makers died. */
static void verify_temporary(int folder, const struct blm_place *place, bool repair,
			     struct blm_findings *to)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir)))
		if (blm_is_temporary(entry->d_name)
		    && !blm_temporary_is_made(folder, entry->d_name))
			blm_found(to, place->display,
				  repair && unlinkat(folder, entry->d_name, 0) == 0,
				  "%s next to it is a temporary file, left behind by a process "
				  "that died", entry->d_name);
	if (dir)
		closedir(dir);
}

/*
 * A file that a process left next to this one when it died while it replaced it; in the folder of
 * the file, wherever links to it are. In a store all files are looked at (orphans.c). A reader
 * cannot lock. It finds the file both before and after it sees that no process is replacing: so no
 * live process made it.
 */
static void verify_beside(struct blm_view *view, const struct blm_place *place, bool repair,
			  struct blm_findings *to)
{
	struct blm_place final;
	char left[BLM_TEMPORARY_NAME];
	const char *last;
	int folder;

	if (blm_place_follow(&final, place) < 0)
		return;
	folder = blm_folder_of(final.name, &last);
	blm_replacement_name(view->image.inode, left);
	if (folder >= 0 && is_left(folder, left) && !blm_ofd_busy(view->image.fd, BLM_LOCK_REPLACE)
	    && is_left(folder, left))
		blm_found(to, place->display, repair && remove_left(view, folder, left),
			  "%s next to it was to replace it, left behind by a process that died",
			  left);
	if (folder >= 0) {
		verify_temporary(folder, place, repair, to);
		close(folder);
	}
	blm_place_clear(&final);
}

static int verify_data(const struct blm_filter *f, bool repair, struct blm_findings *to)
{
	struct blm_view *view = current_view(f);

	BLM_PHASE("checking", view->image.bytes);
	return blm_verify_view(view, f->place.display, repair, to);
}

BLM_API int blm_verify(struct blm_store *store, const char *name, unsigned flags,
		       void (*finding)(void *context, const struct blm_finding *found),
		       void *context)
{
	BLM_CRITICAL_SECTION;
	struct blm_findings findings = { .tell = finding, .context = context };
	bool repair = flags & BLM_VERIFY_REPAIR;
	struct blm_filter *f;
	int r;

	if (flags & ~(unsigned)BLM_VERIFY_REPAIR)
		return blm_fail(-EINVAL, "%s: flags %#x: not all of them are for one filter",
				name ? name : "(memory)", flags);
	r = blm_open(&f, store, name, repair ? BLM_OPEN_WRITE : 0);
	if (blm_is_damage(r)) {
		blm_found_broken(&findings, name);
		return findings.found;
	}
	if (r < 0)
		return r;
	blm_verify_age(current_view(f), f->place.display, repair, &findings);
	r = verify_data(f, repair, &findings);
	if (r == 0)
		r = verify_name(current_view(f), f->place.display, &findings);
	if (r == 0 && findings.repaired)
		r = blm_sync_seeing(f, &(struct blm_seen){ 0 });	/* damage was reported */
	if (r >= 0 && !store && name)
		verify_beside(current_view(f), &f->place, repair, &findings);
	blm_close(f);
	return r < 0 ? r : findings.found - findings.repaired;
}
