/* view.c - a view is made from a file */
#include "view/view.h"
#include "base/secret_memory.h"
#include "bloomery.h"
#include "file/two_slots.h"

#include <unistd.h>

/* ---- Making a view of a file ---- */

static int set_part(struct blm_view *view, unsigned i, const struct blm_part_entry *e,
		    const char *display)
{
	struct blm_part *part = &view->part[i];
	int err = 0;

	*part = (struct blm_part){
		.kind = blm_kind_known(le32toh(e->kind), display, &err),
		.simd = blm_simd_best(),
		.bytes = view->image.map + le64toh(e->offset),
		.shape = {
			.cells = le64toh(e->cells), .bytes = le64toh(e->bytes),
			.probes = le32toh(e->probes), .cell_bits = le32toh(e->cell_bits),
			.capacity = le64toh(e->capacity), .rate = blm_double_of(le64toh(e->rate)),
		},
	};
	if (!part->kind || !blm_order_xor(le32toh(view->constant.template.bit_order),
					   part->shape.cells, &part->order_xor))
		part->order_xor = 0;
	if (!is_foreign(view) && view->image.write)
		part->marks = marks_of(part);
	if (!is_foreign(view))
		part->own = &live_of(view)->own[0].word;
	for (int a = 0; a < BLM_KIND_ARGS; a++)
		part->shape.args[a] = le64toh(view->constant.template.args[a]);
	if (err)
		return err;
	if (!part->kind->valid(&part->shape))
		return blm_fail(-EBADMSG, "%s: part %u: no %s filter has m=%llu, k=%u, %u-bit "
				"cells in %llu bytes", display, i,
				part->kind->name, (unsigned long long)part->shape.cells,
				part->shape.probes, part->shape.cell_bits,
				(unsigned long long)part->shape.bytes);
	return 0;
}

static int set_hasher(struct blm_view *view, const char *display)
{
	return blm_hasher_set(&view->hasher, view->seeds, &view->constant.template, view->secret,
			      display);
}

/* For calls with one key. */
static void make_one(struct blm_view *view)
{
	const struct blm_kind *kind = view->root.kind;
	bool sets_bits = kind_only_sets(kind) && kind->add;
	bool changes = view->image.write && !is_foreign(view)
		&& !(le64toh(view->constant.flags) & BLM_FLAG_SEALED);

	blm_one_make(&view->one, &view->root, &view->hasher);
	view->checks_keys = view->split.parts || view->hasher.family->column;
	if (view->checks_keys) {
		view->one = (struct blm_one){ .contains = NULL };
		return;
	}
	view->grows = changes && sets_bits && kind->next && !wants_keys(&view->hasher);
	if (!changes || !sets_bits || kind->space || kind->compose)
		view->one.add = NULL, view->one.ask = NULL, view->one.add_hash = NULL;
}

static int fill_with(struct blm_view *view, const struct blm_contents *contents,
		     const char *display)
{
	int r;

	view->constant = contents->constant;
	view->parts = contents->parts;
	view->holes = le64toh(view->constant.flags) & BLM_FLAG_SPARSE;
	r = set_hasher(view, display);
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = set_part(view, i, &contents->part[i], display);
	if (r == 0)
		r = blm_view_set_whole(view, contents, display);
	if (r == 0)
		r = blm_view_check_template(view, display);
	if (r == 0 && le64toh(view->constant.must_understand) & BLM_MUST_SPLIT)
		r = blm_view_set_split(view, display);
	view->checkpoint = checkpoint_layout(le64toh(contents->part[0].offset),
					     le64toh(contents->part[0].bytes));
	view->hash_id = blm_hash_id_of(&view->constant.template);
	if (r < 0)
		return r;
	view->can = blm_kind_can(view->root.kind);
	make_one(view);
	return blm_view_load(view, 0, display);
}

static int fill_view(struct blm_view *view, const char *display)
{
	struct blm_contents *contents = malloc(sizeof(*contents));
	int r;

	if (!contents)
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	r = blm_image_check(&view->image, display, contents);
	if (r == 0)
		r = fill_with(view, contents, display);
	free(contents);
	return r;
}

int blm_view_set_constant(struct blm_view *view, const struct blm_constant *constant,
			  const char *display)
{
	struct blm_constant *c = &view->constant;
	int r;

	*c = *constant;
	blm_template_id(&c->template, c->template_id);
	c->check = blm_check_constant(c);
	view->image.header->constant = *c;
	view->holes |= le64toh(c->flags) & BLM_FLAG_SPARSE;
	view->hash_id = blm_hash_id_of(&c->template);
	r = set_hasher(view, display);
	make_one(view);
	return r < 0 ? r : blm_view_check_template(view, display);
}

/* ---- Secrets ---- */

/*
 * Gives a keyed view its secret: the one of the handle, if it is the right one, else the one at the
 * place.
 */
int blm_view_unlock(struct blm_view *view, const struct blm_place *place, const uint8_t *given)
{
	const uint8_t *key_id = view->constant.template.key_id;
	uint8_t id[8];
	int r = 0;

	if (!view->hasher.family->keyed)
		return 0;
	view->secret = blm_hidden_new(BLM_SECRET_BYTES);
	if (!view->secret)
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", place->display);
	if (given)
		blm_secret_copy(view->secret, given);
	else
		r = blm_place_secret(place, key_id, view->secret);
	if (r < 0)
		return r;
	blm_key_id(view->secret, id);
	if (memcmp(id, key_id, 8))
		return blm_fail(-ENOKEY, "%s: needs the secret with the id "
				"%02x%02x%02x%02x%02x%02x%02x%02x; the given secret is another",
				place->display,
				key_id[0], key_id[1], key_id[2], key_id[3], key_id[4], key_id[5],
				key_id[6], key_id[7]);
	view->hasher.secret = view->secret;
	return 0;
}

void blm_view_free(struct blm_view *view)
{
	if (!view)
		return;
	blm_presence_end(&view->presence);
	blm_image_unmap(&view->image);
	blm_hidden_free(view->secret);
	blm_lock_destroy(&view->lock);
	pthread_mutex_destroy(&view->syncing);
	pthread_mutex_destroy(&view->writing);
	pthread_mutex_destroy(&view->growing);
	free(view);
}

int blm_view_make(struct blm_view **ret, int fd, const char *display, bool write)
{
	struct blm_view *view = calloc(1, sizeof(*view));
	int r;

	if (!view) {
		close(fd);
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	}
	blm_lock_init(&view->lock);
	pthread_mutex_init(&view->syncing, NULL);
	pthread_mutex_init(&view->writing, NULL);
	pthread_mutex_init(&view->growing, NULL);
	r = blm_image_map(&view->image, fd, display, write);
	if (r == 0)
		r = fill_view(view, display);
	if (r == 0 && write && view->constant.may_ignore)
		r = blm_fail(-EPROTONOSUPPORT, "%s: has features %#llx that this program does not "
			     "know: it can be read, not changed",
			     display, (unsigned long long)le64toh(view->constant.may_ignore));
	if (r < 0) {
		blm_view_free(view);
		return r;
	}
	if (write) {
		view->presence.live = live_of(view);
		view->lock.presence = &view->presence;
	}
	atomic_init(&view->seen_state, 0);
	set_seen(view, load_acquire(&live_of(view)->state.word));
	view->owners = owners_of(view->last_seen);
	*ret = view;
	return 0;
}

int blm_view_make_foreign(struct blm_view **ret, struct blm_image *image,
			  const struct blm_contents *contents, const char *display)
{
	struct blm_view *view = calloc(1, sizeof(*view));
	struct blm_header *header = calloc(1, sizeof(*header));
	int r;

	if (!view || !header) {
		free(view);
		free(header);
		blm_image_unmap(image);
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	}
	header->constant = contents->constant;
	memcpy(header->part, contents->part, sizeof(header->part));
	header->live.parts.word = htole64(contents->parts);
	header->live.epoch.word = htole64(1);
	header->live.inexact.word = htole64(1);
	image->header = header;
	view->image = *image;
	blm_lock_init(&view->lock);
	pthread_mutex_init(&view->syncing, NULL);
	pthread_mutex_init(&view->writing, NULL);
	pthread_mutex_init(&view->growing, NULL);
	r = fill_with(view, contents, display);
	if (r < 0) {
		blm_view_free(view);
		return r;
	}
	view->holes = true;
	atomic_init(&view->seen_state, load_acquire(&live_of(view)->state.word));
	*ret = view;
	return 0;
}

bool blm_says_name(const struct blm_view *view, const char *name)
{
	struct blm_record record;

	return blm_last_record(view->image.header, view->constant.uuid, &record)
		&& le32toh(record.name_bytes) == strlen(name)
	    && !memcmp(record.name, name, strlen(name));
}

void blm_entry_of_part(struct blm_part_entry *ret, const struct blm_kind *kind, uint32_t role,
		       const struct blm_shape *s)
{
	*ret = (struct blm_part_entry){
		.bytes = htole64(s->bytes), .cells = htole64(s->cells),
		.probes = htole32(s->probes), .cell_bits = htole32(s->cell_bits),
		.kind = htole32(kind->id), .role = htole32(role), .capacity = htole64(s->capacity),
		.rate = htole64(blm_bits_of(s->rate)),
	};
}

void blm_own_words(const struct blm_view *view, uint64_t ret[BLM_OWN])
{
	for (int i = 0; i < BLM_OWN; i++)
		ret[i] = is_foreign(view) || view->shows_image ? 0
			: load_acquire(&live_of(view)->own[i].word);
	if (view->root.torn)
		ret[BLM_OWN_TORN] = 1;
}

int blm_fail_sigbus(const char *display)
{
	return blm_fail(-EIO, "%s: I/O error on the mapped file (truncated, unreadable, or disk "
			"full)", display);
}
