/*
 * new_filter.c - a new file: laid out, mapped, filled before it has a name, then put in its place
 */
#include "make/new_filter.h"
#include "handle/allowlist.h"
#include "place/boot.h"
#include "file/sigbus.h"
#include "file/os.h"
#include "file/two_slots.h"
#include "durable/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

void blm_spec_like(struct blm_spec *ret, const struct blm_view *view)
{
	*ret = (struct blm_spec){
		.template = view->constant.template,
		.of = view->root.kind, .root = view->root.shape,
		.parts = view->parts,
		.capacity = le64toh(view->constant.capacity),
		.rate = blm_double_of(le64toh(view->constant.rate)),
		.sparse = le64toh(view->constant.flags) & BLM_FLAG_SPARSE,
		.no_checkpoint = !(le64toh(view->constant.flags)
				   & (BLM_FLAG_CHECKPOINT | BLM_FLAG_SEALED)),
		.origin = le32toh(view->constant.origin),
		.origin_bytes = le32toh(view->constant.origin_bytes),
		.secret = view->hasher.secret,
		.split_part = view->split.part, .split_parts = view->split.parts,
	};
	memcpy(ret->origin_head, view->constant.origin_head, sizeof(ret->origin_head));
	for (unsigned i = 0; i < view->parts; i++) {
		ret->shape[i] = view->part[i].shape;
		ret->kind[i] = view->part[i].kind;
		ret->role[i] = le32toh(view->image.header->part[i].role);
	}
}

/*
 * A filter that grew contributes only its first part: the sizes are those of its creation, on any
 * machine.
 */
void blm_spec_anew(struct blm_spec *ret, const struct blm_view *view)
{
	blm_spec_like(ret, view);
	if (ret->of->parts)
		ret->parts = ret->of->parts(&ret->root);
}

void blm_spec_of(struct blm_spec *ret, const struct blm_contents *from)
{
	const struct blm_constant *c = &from->constant;

	*ret = (struct blm_spec){
		.template = c->template, .of = blm_kind_by_id(le32toh(c->template.kind)),
		.parts = from->parts,
		.root = {
			.cells = le64toh(c->template.cells), .probes = le32toh(c->template.probes),
			.cell_bits = le32toh(c->template.cell_bits),
		},
		.capacity = le64toh(c->capacity), .rate = blm_double_of(le64toh(c->rate)),
		.origin = le32toh(c->origin), .origin_bytes = le32toh(c->origin_bytes),
	};
	memcpy(ret->origin_head, c->origin_head, sizeof(ret->origin_head));
	for (int a = 0; a < BLM_ARGS; a++)
		ret->root.args[a] = le64toh(c->template.args[a]);
	for (unsigned i = 0; i < from->parts; i++) {
		const struct blm_part_entry *e = &from->part[i];

		ret->kind[i] = blm_kind_by_id(le32toh(e->kind));
		ret->role[i] = le32toh(e->role);
		ret->shape[i] = (struct blm_shape){
			.cells = le64toh(e->cells), .bytes = le64toh(e->bytes),
			.probes = le32toh(e->probes), .cell_bits = le32toh(e->cell_bits),
			.capacity = le64toh(e->capacity), .rate = blm_double_of(le64toh(e->rate)),
		};
	}
}

static int set_constant(struct blm_constant *c, const struct blm_spec *spec, const char *display)
{
	const struct blm_shape *root = &spec->root;
	/* a filter that takes no keys never changes */
	bool sealed = spec->sealed || !kind_takes_keys(spec->of);
	int r = blm_constant_begin(c, display);

	if (r < 0)
		return r;
	c->capacity = htole64(spec->capacity);
	c->rate = htole64(blm_bits_of(spec->rate));
	c->flags = htole64((spec->sparse ? BLM_FLAG_SPARSE : 0) | (sealed ? BLM_FLAG_SEALED : 0)
			   | (kind_has_checkpoint(spec->of) && !sealed
			      && !spec->no_checkpoint ? BLM_FLAG_CHECKPOINT : 0));
	if (spec->split_parts) {
		c->must_understand = htole64(BLM_MUST_SPLIT);
		c->split_part = htole32(spec->split_part);
		c->split_parts = htole32(spec->split_parts);
	}
	c->template = spec->template;
	c->template.kind = htole32(spec->of->id);
	c->template.cells = htole64(root->cells);
	c->template.probes = htole32(root->probes);
	c->template.cell_bits = htole32(root->cell_bits);
	for (int i = 0; i < BLM_ARGS; i++)
		c->template.args[i] = htole64(root->args[i]);
	c->origin = htole32(spec->origin);
	c->origin_bytes = htole32(spec->origin_bytes);
	memcpy(c->origin_head, spec->origin_head, sizeof(c->origin_head));
	blm_template_id(&c->template, c->template_id);
	return 0;
}

static void set_header(struct blm_header *header, const struct blm_spec *spec, const char *name)
{
	struct blm_record record = { 0 };

	for (unsigned i = 0; i < spec->parts; i++)
		blm_entry_of_part(&header->part[i], spec->kind[i], spec->role[i], &spec->shape[i]);
	blm_header_finish(header, spec->parts);
	if (!name)
		return;
	record.name_bytes = htole32((uint32_t)strlen(name));
	memcpy(record.name, name, strlen(name));
	blm_next_record(header, header->constant.uuid, &record);
}

/*
 * A checkpoint image and its journal have their space from the beginning, so that a sync works on a
 * full disk.
 */
static int take_space(struct blm_new_file *file, const struct blm_header *header, unsigned parts,
		      bool sparse, const char *display)
{
	uint64_t offset = le64toh(header->part[parts - 1].offset),
		bytes = le64toh(header->part[parts - 1].bytes);
	struct blm_checkpoint_layout checkpoint = checkpoint_layout(offset, bytes);

	if (!(le64toh(header->constant.flags) & BLM_FLAG_CHECKPOINT))
		return blm_new_file_size(file, offset + bytes, sparse, display);
	return blm_new_file_size(file, checkpoint.end, sparse, display);
}

static int make(struct blm_staged *staged, const struct blm_place *place,
		const struct blm_spec *spec, struct blm_header *header)
{
	int fd, r = set_constant(&header->constant, spec, place->display);

	if (r < 0)
		return r;
	set_header(header, spec, blm_place_name(place));
	r = take_space(&staged->file, header, spec->parts, spec->sparse || place->memory,
		       place->display);
	if (r < 0)
		return r;
	r = blm_write_at(staged->file.fd, header, sizeof(*header), 0);
	if (r < 0)
		return blm_fail(r, "%s: cannot write its header: %s", place->display, strerror(-r));
	fd = fcntl(staged->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return blm_fail(-errno, "%s: %s", place->display, strerror(errno));
	r = blm_view_make(&staged->view, fd, place->display, true);
	if (r < 0)
		return r;
	staged->view->holes |= place->memory != NULL;
	r = blm_view_unlock(staged->view, place, spec->secret);
	if (r == 0)
		set_unshared(staged->view, true);
	return r;
}

int blm_staged_make(struct blm_staged *ret, const struct blm_place *place,
		    const struct blm_spec *spec)
{
	struct blm_staged staged = { .view = NULL };
	int r = blm_check_boot(spec->of, spec->sealed || !kind_takes_keys(spec->of), place);
	struct blm_header *header;

	if (r < 0)
		return r;
	header = calloc(1, sizeof(*header));
	if (!header)
		return blm_fail(-ENOMEM, "%s: out of memory", place->display);
	r = blm_place_new(place, spec->mode, &staged.file);
	if (r == 0) {
		r = make(&staged, place, spec, header);
		if (r == 0)
			*ret = staged;
		else
			blm_staged_end(&staged);
	}
	free(header);
	return r;
}

int blm_staged_finish(struct blm_staged *staged, const struct blm_place *place)
{
	int r = blm_blocksum_new(staged->view);

	/* memory has no power cuts but its last */
	if (r == 0 && has_checkpoint(staged->view) && !place->memory)
		r = blm_checkpoint_new(staged->view);
	if (r < 0)
		return r;
	if (blm_sigbus_hit(staged->view->image.map))
		return blm_fail(-ENOSPC, "%s: no room for its data: the disk is full, or the new "
				"file was truncated or cannot be written", place->display);
	/* all of it is synced before it has its name */
	live_of(staged->view)->written.word = 0;
	live_of(staged->view)->boot.word = 0;
	live_of(staged->view)->announced.word = 0;
	return 0;
}

static int publish(struct blm_staged *staged, const struct blm_place *place,
		   const struct blm_handover *over)
{
	int r = blm_staged_finish(staged, place);

	if (r < 0)
		return r;
	r = blm_place_publish(place, &staged->file, staged->view->image.header, over);
	if (r == 0 && place->store)
		atomic_store(&staged->view->seen_state, BLM_STATE_NAMED);
	if (r == 0)
		atomic_store(&staged->view->named, true);
	if (r == 0)
		blm_allow_learn(place, staged->view);
	return r;
}

/* A keyed filter's secret is in its place before anybody can find the filter. */
int blm_staged_publish(struct blm_staged *staged, const struct blm_place *place,
		       const struct blm_handover *over)
{
	const struct blm_view *view = staged->view;
	const uint8_t *key_id = view->constant.template.key_id;
	int held = -1, kept = view->secret ? blm_place_hold_secrets(place, &held) : 0, r;

	if (kept == 0 && view->secret && !staged->secret_is_kept)
		kept = blm_place_keep_secret(place, key_id, view->secret);
	r = kept < 0 ? kept : publish(staged, place, over);
	if (held >= 0)
		close(held);
	if (r < 0 && kept > 0)
		blm_place_lose_secret(place, key_id);
	return r;
}

void blm_staged_end(struct blm_staged *staged)
{
	blm_view_free(staged->view);
	staged->view = NULL;
	blm_new_file_end(&staged->file);
}

int blm_staged_handle(struct blm_filter **ret, struct blm_staged *staged, struct blm_place *place,
		      const uint8_t *secret)
{
	struct blm_view *view = staged->view;
	struct blm_filter *f;
	int r;

	staged->view = NULL;
	blm_staged_end(staged);
	set_unshared(view, false);
	f = ret ? blm_handle_new(place, true) : NULL;
	if (!f) {
		blm_view_free(view);
		return ret ? blm_fail(-ENOMEM, "%s: out of memory", place->display) : 0;
	}
	atomic_init(&f->view, view);
	r = blm_handle_keep_secret(f, secret);
	if (r < 0) {
		blm_handle_free(f);
		return r;
	}
	blm_handle_begin(f, view);
	*ret = f;
	return 0;
}

int blm_staged_lend(struct blm_filter **ret, struct blm_staged *staged,
		    const struct blm_place *place)
{
	struct blm_place same;
	struct blm_filter *f;
	int r = blm_place_follow(&same, place);

	if (r < 0)
		return r;
	f = blm_handle_new(&same, true);
	if (!f) {
		blm_place_clear(&same);
		return blm_fail(-ENOMEM, "%s: out of memory", place->display);
	}
	set_unshared(staged->view, false);	/* it may be filled by several threads */
	atomic_init(&f->view, staged->view);
	f->lent = true;
	*ret = f;
	return 0;
}

/* Its current shape, which may have grown. */
void blm_staged_take_back(struct blm_staged *staged, struct blm_filter *lent)
{
	staged->view = atomic_load(&lent->view);
	atomic_store(&lent->view, staged->view->older);
	staged->view->older = NULL;
	blm_handle_free(lent);
}

int blm_say_replaceable(int r)
{
	return r == -EEXIST ? blm_fail_more(r, "; blm_params.replace replaces a filter") : r;
}

int blm_make(struct blm_filter **ret, struct blm_store *store, const char *name,
	     const struct blm_spec *spec,
	     int (*fill)(struct blm_view *view, void *context), void *context)
{
	struct blm_staged staged;
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	/* before any space is taken; the naming itself looks again */
	r = blm_place_is_taken(&place);
	if (r == 0)
		r = blm_staged_make(&staged, &place, spec);
	if (r == 0) {
		if (fill)
			r = fill(staged.view, context);
		if (r == 0)
			r = blm_staged_publish(&staged, &place, NULL);
		if (r == 0)
			r = blm_staged_handle(ret, &staged, &place, NULL);
		else
			blm_staged_end(&staged);
	}
	blm_place_clear(&place);
	return r;
}

/* ---- Keys that a kind cannot have ---- */

int blm_check_keys(const struct blm_batch *batch, const struct blm_kind *kind)
{
	const struct blm_family *family = batch->by->family;

	for (size_t i = 0; family->refuse && i < batch->count; i++) {
		const struct blm_key *key = batch->keys ? &batch->keys[i]
			: &(struct blm_key){ "a key", 5 };
		const char *reason = family->refuse(&batch->hashes[i]);

		if (reason)
			return blm_fail(-EINVAL, "\"%.*s\" is %s: %s filters%s%s take no other "
					"keys", key->len < 40 ? (int)key->len : 40,
					key->len ? (const char *)key->bytes : "", reason,
					kind->name, family->ordered ? " with the hash " : "",
					family->ordered ? family->name : "");
	}
	return 0;
}
