/*
 * refresh.c - the current numbers of a filter's header, where the catalog only knows the last sync
 */
#include "base/sized.h"
#include "file/mapping.h"
#include "file/os.h"
#include "file/two_slots.h"
#include "stats/info.h"
#include "kind/kind_registry.h"
#include "place/store_dir.h"

#include <fcntl.h>
#include <unistd.h>

/* By its descriptor: the name is not asked, because it may lead elsewhere now. */
static int read_header(const struct blm_store *s, const struct blm_info *info,
		       struct blm_header *ret,
		       uint64_t *ret_bytes)
{
	char file[BLM_FILE_TEXT];
	struct stat st = { 0 };
	int64_t n = -1;
	int fd, r;

	blm_uuid_file(info->uuid, file);
	fd = openat(s->filters, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0)
		n = blm_read_at(fd, ret, sizeof(*ret), 0);
	if (r == 0 && n < 0)
		r = (int)n;
	if (fd >= 0)
		close(fd);
	if (r < 0)
		return blm_fail(r, "%s (%s): cannot read filters/%s: %s", info->name, s->dir, file,
				strerror(-r));
	if (n < (int64_t)sizeof(*ret))
		return blm_fail(-ENODATA, "%s (%s): filters/%s has no complete header", info->name,
				s->dir, file);
	if (ret->constant.check != blm_check_constant(&ret->constant)
	    || memcmp(ret->constant.uuid, info->uuid, 16))
		return blm_fail(-EBADMSG, "%s (%s): the header in filters/%s is damaged, or "
				"another filter's", info->name, s->dir, file);
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

/*
 * After a power cut the checkpoint image is the filter, with its count, until a writer restored
 * it.
 */
static bool is_as_synced(const struct blm_header *header, const struct blm_sync_record *last)
{
	return le64toh(header->constant.flags) & BLM_FLAG_CHECKPOINT
	    && load_acquire(&header->live.written.word) > le64toh(last->epoch)
	    && load_acquire(&header->live.boot.word) != blm_boot_number();
}

static int refresh(struct blm_store *s, struct blm_info *info)
{
	struct {
		struct blm_header header;
		struct blm_entry entry;
		struct blm_info info;
	} *now = malloc(sizeof(*now));
	struct blm_sync_record last = { 0 };
	uint64_t bytes = 0;
	int r = now ? read_header(s, info, &now->header, &bytes)
		    : blm_fail(-ENOMEM, "%s: out of memory", info->name);

	if (r == 0) {
		blm_last_sync(&now->header.live, info->uuid, &last);
		blm_entry_of(&now->entry, &now->header, bytes);
		if (is_as_synced(&now->header, &last))
			now->entry.keys = le64toh(last.keys);
		now->entry.synced = le64toh(last.time);
		r = blm_info_of_entry(&now->info, info->name, &now->entry);
	}
	if (r == 0) {
		info->keys = now->info.keys;
		info->keys_estimated = now->info.keys_estimated;
		info->rate_at_keys = now->info.rate_at_keys;
		info->bytes = bytes;
		info->data_bytes = now->info.data_bytes;
		info->synced = now->info.synced;
		info->synced_epoch = le64toh(last.epoch);
		info->epoch = load_acquire(&now->header.live.epoch.word);
		info->dirty = load_acquire(&now->header.live.written.word) > info->synced_epoch;
		info->from_catalog = false;
	}
	free(now);
	return r;
}

BLM_API int blm_store_refresh(struct blm_store *s, struct blm_info *info)
{
	struct blm_info *ours;
	int r = blm_info_begin(&ours, info);

	if (r < 0)
		return r;
	r = blm_sized_take(ours, sizeof(*ours), 0, info, "blm_info");
	if (r == 0)
		r = refresh(s, ours);
	return blm_info_end(ours, info, r);
}
