/* name_check.c - the name and labels in a file's own record, against the catalog */
#include "check/store_check.h"
#include "handle/name_record.h"
#include "file/two_slots.h"

#include <stdio.h>
#include <time.h>

/*
 * The file's name record against the catalog. A writer of both holds BLM_LOCK_SYNC from before the
 * one until after the other, so where the two differ, in this order:
 *
 *   read the record; look the name up; is the lock free? read the record again
 *
 *   the lock is taken           a change is under way, and nothing is said of it
 *   the two records differ      a change ended meanwhile: look again
 *   else                        a process died between the two
 */
enum naming { AS_IT_SHOULD, UNDER_WAY, LEFT_BEHIND };

struct naming_look {
	struct blm_record before, after;
	struct blm_entry entry;
};

static void read_record(const struct blm_view *view, struct blm_record *ret)
{
	if (!blm_last_record(view->image.header, view->constant.uuid, ret))
		memset(ret, 0, sizeof(*ret));
}

static bool has_labels(const struct blm_record *record, const void *labels, size_t bytes)
{
	return le32toh(record->labels_bytes) == bytes && !memcmp(record->labels, labels, bytes);
}

static bool is_in_line(const struct blm_view *view, const char *name)
{
	return blm_says_name(view, name)
		&& !blm_records_contradict(view->image.header, view->constant.uuid);
}

static int look_at_name(struct repair *r, const struct blm_view *view, const struct blm_info *info,
			struct naming_look *look)
{
	enum { LOOKS = 100 };
	const char *name = info->name;

	for (int i = 0; i < LOOKS; i++) {
		int err;

		read_record(view, &look->before);
		if (is_in_line(view, name) && has_labels(&look->before, info->labels,
							 strlen(info->labels)))
			return AS_IT_SHOULD;
		err = blm_catalog_get(r->store->catalog, name, &look->entry);
		if (err == -ENOENT || (err == 0 && memcmp(look->entry.constant.uuid,
							  view->constant.uuid, 16)))
			return AS_IT_SHOULD;	/* renamed, replaced or dropped in the meantime */
		if (err < 0)
			return err;
		if (is_in_line(view, name) && has_labels(&look->before, look->entry.labels,
							 look->entry.labels_bytes))
			return AS_IT_SHOULD;
		if (!blm_ofd_busy(view->image.fd, BLM_LOCK_SYNC)) {
			read_record(view, &look->after);
			if (!memcmp(&look->before, &look->after, sizeof(look->before)))
				return LEFT_BEHIND;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return UNDER_WAY;
}

static void tell_name(struct repair *r, const struct blm_filter *f, const char *name,
		      const char *own)
{
	const struct blm_view *view = current_view(f);
	bool labels = is_in_line(view, name);
	bool mended = r->repair && blm_write_record(r->store, name) == 0 && is_in_line(view, name);

	if (labels)
		blm_found(r->to, f->place.display, mended, "a change of its labels was "
			  "interrupted: the next change of its labels, or a repair with "
			  "blm_store_verify(), completes it");
	else if (!strcmp(own, name))
		blm_found(r->to, f->place.display, mended,
			  "its two name records contradict each other");
	else if (*own)
		blm_found(r->to, f->place.display, mended, "a rename from %s was interrupted: the "
			  "next opening for changes, or a repair with blm_store_verify(), "
			  "completes it", own);
	else
		blm_found(r->to, f->place.display, mended, "its file does not have its name, %s, "
			  "which a lost catalog would be made from", name);
}

/*
 * A file that says another name: another record that means the same file has that name, or a rename
 * was cut short.
 */
static int check_left_behind(struct repair *r, const struct blm_filter *f,
			     const struct blm_info *info, const char *own)
{
	int err = 0;

	if (strcmp(own, info->name) && blm_check_name(own) == 0
	    && blm_store_is(r->store, own, info->uuid) == 1) {
		/* unless it has just been renamed */
		if (blm_store_is(r->store, info->name, info->uuid) != 1)
			return 0;
		if (r->repair)
			err = blm_catalog_remove(r->store->catalog, info->name, info->uuid);
		blm_found(r->to, info->name, r->repair && err == 0,
			  "has the same file as %s: the catalog has it twice", own);
		return err == -ENOENT ? 0 : err;
	}
	tell_name(r, f, info->name, own);
	return 0;
}

int blm_repair_name(struct repair *r, const struct blm_filter *f, const struct blm_info *info)
{
	struct naming_look *look = calloc(1, sizeof(*look));
	char own[BLM_FORMAT_NAME] = "";
	int err = look ? look_at_name(r, current_view(f), info, look)
		: blm_fail(-ENOMEM, "%s: out of memory", r->dir);

	if (err == LEFT_BEHIND) {
		memcpy(own, look->before.name, le32toh(look->before.name_bytes));
		err = check_left_behind(r, f, info, own);
	}
	free(look);
	return err < 0 ? err : 0;
}
