/* make.c - a new file: laid out, mapped, filled while nobody sees it, then put in its place */
#include "file/system.h"
#include "filter.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

void blm_making_like(struct blm_making *ret, const struct blm_view *view)
{
	*ret = (struct blm_making){
		.template = view->constant.template,
		.parts = view->parts,
		.capacity = le64toh(view->constant.capacity),
		.rate = blm_double_of(le64toh(view->constant.rate)),
		.sparse = le64toh(view->constant.flags) & BLM_FLAG_SPARSE,
		.secret = view->hasher.secret,
	};
	for (unsigned i = 0; i < view->parts; i++) {
		ret->shape[i] = view->part[i].shape;
		ret->kind[i] = view->part[i].kind;
		ret->role[i] = le32toh(view->image.header->part[i].role);
	}
}

static void set_constant(struct blm_constant *c, const struct blm_making *making)
{
	const struct blm_shape *first = &making->shape[0];

	memcpy(c->magic, BLM_MAGIC, 8);
	c->version = htole32(BLM_FORMAT_VERSION);
	c->header_bytes = htole32(BLM_HEADER_BYTES);
	randombytes_buf(c->uuid, sizeof(c->uuid));
	c->uuid[6] = (uint8_t)((c->uuid[6] & 0x0f) | 0x40);	/* RFC 4122: random */
	c->uuid[8] = (uint8_t)((c->uuid[8] & 0x3f) | 0x80);
	c->created = htole64(blm_now());
	c->capacity = htole64(making->capacity);
	c->rate = htole64(blm_bits_of(making->rate));
	c->flags = htole64(making->sparse ? BLM_FLAG_SPARSE : 0);
	c->template = making->template;
	c->template.kind = htole32(making->kind[0]->id);
	c->template.cells = htole64(first->cells);
	c->template.probes = htole32(first->probes);
	c->template.cell_bits = htole32(first->cell_bits);
	for (int i = 0; i < BLM_ARGS; i++)
		c->template.args[i] = htole64(first->args[i]);
	blm_template_id(&c->template, c->template_id);
	c->check = blm_check_constant(c);
}

/* The part table; returns where the file ends. */
static uint64_t set_parts(struct blm_header *header, const struct blm_making *making)
{
	uint64_t end = BLM_HEADER_BYTES;

	for (unsigned i = 0; i < making->parts; i++) {
		const struct blm_shape *s = &making->shape[i];
		struct blm_part_entry *e = &header->part[i];

		end = round_up(end, s->bytes > BLM_HUGE_PAGE ? BLM_HUGE_PAGE : BLM_PART_ALIGN);
		e->offset = htole64(end);
		e->bytes = htole64(s->bytes);
		e->cells = htole64(s->cells);
		e->probes = htole32(s->probes);
		e->cell_bits = htole32(s->cell_bits);
		e->kind = htole32(making->kind[i]->id);
		e->role = htole32(making->role[i]);
		e->capacity = htole64(s->capacity);
		e->rate = htole64(blm_bits_of(s->rate));
		e->check = blm_check_part(e, i, header->constant.uuid);
		end += s->bytes;
	}
	return end;
}

static void set_header(struct blm_header *header, const struct blm_making *making, const char *name)
{
	struct blm_record record = { 0 };

	header->live.parts.word = htole64(making->parts);
	header->live.epoch.word = htole64(1);
	if (!name)
		return;
	record.name_bytes = htole32((uint32_t)strlen(name));
	memcpy(record.name, name, strlen(name));
	blm_next_record(header, header->constant.uuid, &record);
}

static int make(struct blm_unborn *unborn, const struct blm_place *place, const struct blm_making *making, struct blm_header *header)
{
	uint64_t bytes;
	int fd, r;

	set_constant(&header->constant, making);
	bytes = set_parts(header, making);
	set_header(header, making, blm_place_name(place));
	r = blm_new_file_size(&unborn->file, bytes, making->sparse, place->shown);
	if (r < 0)
		return r;
	if (pwrite(unborn->file.fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header))
		return blm_fail(errno ? -errno : -EIO, "%s: cannot write its header: %s", place->shown, strerror(errno));
	fd = fcntl(unborn->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return blm_fail(-errno, "%s: %s", place->shown, strerror(errno));
	r = blm_view_make(&unborn->view, fd, place->shown, true);
	if (r == 0)
		r = blm_view_unlock(unborn->view, place, making->secret);
	for (unsigned i = 0; r == 0 && i < unborn->view->parts; i++)
		unborn->view->part[i].alone = true;
	return r;
}

int blm_unborn_make(struct blm_unborn *ret, const struct blm_place *place, const struct blm_making *making)
{
	struct blm_unborn unborn = { .view = NULL };
	struct blm_header *header = calloc(1, sizeof(*header));
	int r;

	if (!header || sodium_init() < 0) {
		free(header);
		return blm_fail(-ENOMEM, "%s: out of memory", place->shown);
	}
	r = blm_place_new(place, making->mode, &unborn.file);
	if (r == 0) {
		r = make(&unborn, place, making, header);
		if (r == 0)
			*ret = unborn;
		else
			blm_unborn_end(&unborn);
	}
	free(header);
	return r;
}

/* A keyed filter's secret is in its place before anybody can find the filter. */
int blm_unborn_publish(struct blm_unborn *unborn, const struct blm_place *place, const uint8_t *over)
{
	const struct blm_view *view = unborn->view;
	int r;

	if (view->secret) {
		r = blm_place_keep_secret(place, view->constant.template.key_id, view->secret);

		if (r < 0)
			return r;
	}
	r = blm_place_publish(place, &unborn->file, unborn->view->image.header, over);
	if (r == 0 && place->store)
		atomic_store(&unborn->view->seen_state, BLM_STATE_NAMED);
	return r;
}

void blm_unborn_end(struct blm_unborn *unborn)
{
	blm_view_free(unborn->view);
	unborn->view = NULL;
	if (unborn->file.fd >= 0)
		close(unborn->file.fd);
	blm_new_file_end(&unborn->file);
}
