/* verify.c - check all of one filter */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>

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
		to->tell(to->context, &(struct blm_finding){ .file = file, .what = what, .repaired = repaired });
}

bool blm_is_damage(int err)
{
	return err == -EBADMSG || err == -ENODATA || err == -EPROTONOSUPPORT || err == -EUCLEAN;
}

/* The last bits of a part are no cell's, so nobody sets them. */
static void verify_padding(const struct blm_part *part, unsigned i, const char *file, struct blm_findings *to)
{
	unsigned padding = part->kind->padding_bits ? part->kind->padding_bits(&part->shape) : 0;
	const uint64_t *words = (const uint64_t *)part->bytes;
	uint64_t bits = part->shape.bytes * 8;

	for (uint64_t bit = bits - padding; bit < bits; bit++)
		if (load_relaxed(&words[bit / 64]) >> bit % 64 & 1) {
			blm_found(to, file, false, "part %u: bit %llu is set, which is no cell's (m is %llu)", i,
				  (unsigned long long)bit, (unsigned long long)part->shape.cells);
			return;
		}
}

/* One damaged slot is what a crash in the middle of a sync leaves; with both damaged nobody knows what is on the disk. */
static void verify_slots(const struct blm_view *view, const char *file, struct blm_findings *to)
{
	const struct blm_live *live = live_of(view);
	const struct blm_record *record = view->image.header->record;
	struct blm_sync_record sync;
	struct blm_record *copy = malloc(sizeof(*copy));

	if ((live->sync[0].sequence || live->sync[1].sequence) && !blm_last_sync(live, view->constant.uuid, &sync))
		blm_found(to, file, false, "both sync records are damaged: how much of it was synced is not known; sync it");
	if (copy && (record[0].sequence || record[1].sequence) && !blm_last_record(view->image.header, view->constant.uuid, copy))
		blm_found(to, file, false, "both name records are damaged");
	free(copy);
}

static void verify_words(const struct blm_view *view, const char *file, struct blm_findings *to)
{
	const struct blm_live *live = live_of(view);
	uint64_t epoch = load_acquire(&live->epoch.word), written = load_acquire(&live->written.word);
	struct blm_sync_record sync;

	if (state_of(load_acquire(&live->state.word)) > BLM_UNNAMED)
		blm_found(to, file, false, "state %u is none", (unsigned)state_of(load_acquire(&live->state.word)));
	if (!epoch || written > epoch)
		blm_found(to, file, false, "epoch %llu, written in %llu: impossible", (unsigned long long)epoch, (unsigned long long)written);
	if (blm_last_sync(live, view->constant.uuid, &sync) && le64toh(sync.epoch) >= epoch)
		blm_found(to, file, false, "epoch %llu, but %llu is said to be synced", (unsigned long long)epoch,
			  (unsigned long long)le64toh(sync.epoch));
}

void blm_verify_view(const struct blm_view *view, const char *file, struct blm_findings *to)
{
	for (unsigned i = 0; i < view->parts; i++)
		verify_padding(&view->part[i], i, file, to);
	verify_slots(view, file, to);
	verify_words(view, file, to);
}

BLM_API int blm_verify(struct blm_store *store, const char *name,
		       void (*finding)(void *context, const struct blm_finding *found), void *context)
{
	struct blm_findings findings = { .tell = finding, .context = context };
	struct blm_filter *f;
	int r = blm_open(&f, store, name, false);

	if (blm_is_damage(r)) {
		blm_found(&findings, name, false, "%s", blm_why());
		return findings.found;
	}
	if (r < 0)
		return r;
	blm_verify_view(current_view(f), f->place.shown, &findings);
	blm_close(f);
	return findings.found;
}
