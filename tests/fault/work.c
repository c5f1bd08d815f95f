/*
 * work.c - what programs do with filters while their machine fails, and what must be true
 * afterwards
 */
#include "work.h"
#include "../info.h"
#include "bloomery.h"
#include "fault.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES = 6, WRITERS = 4, BATCH = 120 };

static const struct blm_params shapes[] = {
	BLM_PARAMS(.kind = "blocked", .capacity = 300, .rate = 0.0001),
	BLM_PARAMS(.kind = "classic", .cells = 30011, .probes = 7),
	BLM_PARAMS(.kind = "blocked", .capacity = 60000, .rate = 0.001),
	BLM_PARAMS(.kind = "classic", .cells = 18000000, .probes = 3, .sparse = true),
	BLM_PARAMS(.kind = "cuckoo", .capacity = 20000, .rate = 0.001),
	BLM_PARAMS(.kind = "counting", .capacity = 2000, .rate = 0.001),
	BLM_PARAMS(.kind = "scalable", .capacity = 60, .rate = 0.001),
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* For many keys: a full filter loses none. */
static const struct blm_params large[] = {
	BLM_PARAMS(.kind = "blocked", .capacity = 60000, .rate = 0.001),
	BLM_PARAMS(.kind = "classic", .cells = 600011, .probes = 7),
	BLM_PARAMS(.kind = "blocked", .capacity = 200000, .rate = 0.001),
	BLM_PARAMS(.kind = "classic", .cells = 18000000, .probes = 3, .sparse = true),
	BLM_PARAMS(.kind = "cuckoo", .capacity = 200000, .rate = 0.001),
	BLM_PARAMS(.kind = "counting", .capacity = 60000, .rate = 0.001),
	BLM_PARAMS(.kind = "scalable", .capacity = 200, .rate = 0.001),
};
static_assert(sizeof(large) == sizeof(shapes), "as many");

/* After a cut the machine starts anew. */
unsigned work_boots;
uint64_t __real_blm_boot_number(void);
uint64_t __wrap_blm_boot_number(void);

uint64_t __wrap_blm_boot_number(void)
{
	return __real_blm_boot_number() + 2 * work_boots;	/* odd as it is: not 0 */
}

static uint64_t key_of(uint32_t generation, uint32_t i)
{
	return (uint64_t)generation << 32 | i;
}

static void in_folder(char ret[300], const char *folder, const char *name)
{
	snprintf(ret, 300, "%.200s/%s", folder, name);
}

static const char *name_of(unsigned i, char ret[8])
{
	snprintf(ret, 8, "n%u", i);
	return ret;
}

void *work_shared(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* ---- What there should be ---- */

struct slot {
	bool there, sealed;
	/* a cut came between the catalog and the file's own record of its name and labels */
	bool record_lags;
	uint32_t generation, keys, label;
	/*
	 * How many keys its file may have counted. The count of an add that was cut can be on the
	 * disk without its keys, which are counted again when they are added again.
	 */
	uint32_t counted;
};

struct model {
	bool store;
	struct slot slot[NAMES];
};

static void apply(struct model *m, const struct report *r)
{
	struct slot *s = &m->slot[r->name];

	switch ((enum op)r->op) {
	case OP_STORE:
		m->store = true;
		break;
	case OP_CREATE:
		/* a replaced filter leaves its labels */
		*s = (struct slot){ .there = true, .generation = r->generation, .label = s->label };
		break;
	case OP_ADD:
		s->keys = r->keys;
		break;
	case OP_PUBLISH: case OP_REBUILD: case OP_CLEAR:
		*s = (struct slot){ .there = true,
				    .generation = r->generation,
				    .keys = r->keys,
				    .counted = r->keys,
				    .label = s->label };
		break;
	case OP_RENAME:
		m->slot[r->to] = *s;
		m->slot[r->to].record_lags = r->done == SETTLED;
		*s = (struct slot){ .there = false };
		break;
	case OP_DROP:
		*s = (struct slot){ .there = false };
		break;
	case OP_SEAL:
		s->sealed = true;
		s->record_lags = false;
		break;
	case OP_LABEL:
		s->label = r->label;
		s->record_lags = r->done == SETTLED;
		break;
	case OP_SYNCED: case OP_UNDONE: case OP_FAILED:
		break;
	}
}

/* ---- Names ---- */

static int add_from(struct blm_filter *f, uint32_t generation, uint32_t from, uint32_t to)
{
	uint64_t keys[BATCH];
	struct blm_key key[BATCH];
	int64_t r = 0;

	while (r >= 0 && from < to) {
		uint32_t count = to - from < BATCH ? to - from : BATCH;

		for (uint32_t i = 0; i < count; i++) {
			keys[i] = key_of(generation, from + i);
			key[i] = (struct blm_key){ &keys[i], sizeof(keys[i]) };
		}
		r = blm_add_many(f, key, count, NULL);
		from += count;
	}
	return r < 0 ? (int)r : 0;
}

static int fill(struct blm_filter *new, void *report)
{
	const struct report *r = report;

	return add_from(new, r->generation, 0, r->keys);
}

static int with_handle(struct blm_store *store, const char *name, const struct report *r,
		       const struct slot *s)
{
	struct blm_filter *f;
	int e = blm_open(&f, store, name, BLM_OPEN_WRITE);

	if (e < 0)
		return e;
	switch ((enum op)r->op) {
	case OP_CLEAR:
		e = blm_clear(f);
		break;
	case OP_SEAL:
		e = blm_seal(f);
		break;
	default:
		e = add_from(f, s->generation, s->keys, r->keys);
		if (e == 0)
			e = blm_sync(f);
	}
	blm_close(f);
	return e;
}

static int publish(struct blm_store *store, const char *name, const struct report *r)
{
	struct blm_filter *f;
	int e = blm_create(&f, NULL, NULL, &shapes[r->generation % SHAPES]);

	if (e == 0) {
		e = add_from(f, r->generation, 0, r->keys);
		if (e == 0)
			e = blm_store_publish(store, name, f, 0, BLM_PUBLISH_WRITABLE);
		blm_close(f);
	}
	return e;
}

static int take_step(struct blm_store *store, const struct report *r, const struct slot *s)
{
	struct blm_params params = shapes[r->generation % SHAPES];
	char name[8], to[8], value[16];
	struct blm_filter *f;
	int e;

	name_of(r->name, name);
	switch ((enum op)r->op) {
	case OP_CREATE:
		if (store && !s->there && r->generation % 2)
			return blm_create_many(store, (const char *[]){ name }, 1, &params);
		params.replace = s->there;
		e = blm_create(&f, store, name, &params);
		if (e == 0)
			blm_close(f);
		return e;
	case OP_PUBLISH:
		return publish(store, name, r);
	case OP_RENAME:
		return blm_store_rename(store, name, name_of(r->to, to));
	case OP_DROP:
		return blm_store_drop(store, name);
	case OP_REBUILD:
		return blm_rebuild(store, name, &params, fill, (void *)r);
	case OP_LABEL:
		snprintf(value, sizeof(value), "%u", r->label);
		return blm_store_label(store, name, "at", value);
	default:
		return with_handle(store, name, r, s);
	}
}

/* A step that can be taken. */
static struct report choose(const struct model *m, bool paths, uint64_t *random,
			    uint32_t generation)
{
	for (;;) {
		struct report r = { .op = (uint8_t)(OP_CREATE + one_of(random, OP_LABEL)),
				    .name = (uint8_t)one_of(random, NAMES) };
		const struct slot *s = &m->slot[r.name];

		if (paths
		    && (r.op == OP_PUBLISH || r.op == OP_RENAME || r.op == OP_DROP
			|| r.op == OP_LABEL))
			continue;
		switch ((enum op)r.op) {
		case OP_CREATE:
			if (s->there && one_of(random, 2))	/* else it is replaced */
				continue;
			r.generation = generation;
			return r;
		case OP_PUBLISH:
			r.generation = generation;
			r.keys = 1 + one_of(random, 200);
			return r;
		case OP_RENAME:
			r.to = (uint8_t)one_of(random, NAMES);
			if (!s->there || m->slot[r.to].there || r.to == r.name)
				continue;
			return r;
		default:
			break;
		}
		if (!s->there
		    || (s->sealed && (r.op == OP_ADD || r.op == OP_CLEAR || r.op == OP_SEAL)))
			continue;
		if (r.op == OP_SEAL && one_of(random, 3))
			continue;
		r.generation = generation;
		r.label = r.op == OP_LABEL ? generation : 0;
		r.keys = r.op == OP_ADD	    ? s->keys + 1 + one_of(random, 200)
		       : r.op == OP_REBUILD ? 1 + one_of(random, 200)
					    : 0;
		return r;
	}
}

_Atomic int *work_power_goes;

static void tell(int fd, const struct report *r)
{
	if (work_power_goes && *work_power_goes)
		for (;;)
			pause();
	if (write(fd, r, sizeof(*r)) != (ssize_t)sizeof(*r))
		_exit(EXIT_FAILURE);
}

static void __attribute__((noreturn)) fail(int fd, int err)
{
	tell(fd, &(struct report){ .op = OP_FAILED, .keys = (uint32_t)-err });
	fprintf(stderr, "%s\n", blm_error_message());
	_exit(EXIT_FAILURE);
}

static struct blm_store *open_store(const char *folder, int fd)
{
	struct report made = { .op = OP_STORE };
	struct blm_store *store;
	char path[300];
	int e;

	in_folder(path, folder, "store");
	tell(fd, &made);
	e = blm_store_open(&store, path, BLM_STORE_CREATE);
	if (e < 0)
		fail(fd, e);
	made.done = 1;
	tell(fd, &made);
	return store;
}

static void do_names(struct blm_store *store, struct model *m, uint32_t generation, uint64_t seed,
		     unsigned steps, int fd)
{
	for (unsigned step = 1; step <= steps; step++) {
		struct report r = choose(m, !store, &seed, generation + step);
		int e;

		tell(fd, &r);
		e = take_step(store, &r, &m->slot[r.name]);
		if (e < 0)
			fail(fd, e);
		apply(m, &r);
		r.done = 1;
		tell(fd, &r);
	}
	blm_store_close(store);
}

/* ---- Writers ---- */

/* The first two add keys of their own; the others claim the same ones. */
static void add_and_sync(struct blm_filter *f, uint32_t who, uint64_t seed, unsigned steps, int fd)
{
	struct report r = { .op = OP_SYNCED, .done = 1, .generation = who < 2 ? who : 2 };

	for (unsigned step = 0; step < steps; step++) {
		uint32_t count = 1 + one_of(&seed, 100);
		int e = 0;

		if (who < 2)
			e = add_from(f, r.generation, r.keys, r.keys + count);
		else
			for (uint32_t i = 0; e >= 0 && i < count; i++) {
				uint64_t key = key_of(r.generation, r.keys + i);

				e = blm_claim(f, &key, sizeof(key));
			}
		if (e >= 0)
			e = blm_sync(f);
		if (e < 0)
			fail(fd, e);
		r.keys += count;
		tell(fd, &r);
	}
}

/*
 * AND with all ones changes no bit, and puts a new file in the place of the old one. Not all kinds
 * can.
 */
static void replace_it(struct blm_filter *f, unsigned steps, int fd)
{
	struct blm_filter *ones;
	struct blm_info *info = info_buffer();
	uint8_t all[4096];
	int e = blm_info(f, info);

	if (e == 0 && !(info->can & BLM_CAN_INTERSECT)) {
		free(info);
		return;
	}
	memset(all, 0xff, sizeof(all));
	if (e == 0)
		e = blm_template(&ones, NULL, NULL, f, 0);
	for (uint64_t at = 0; e >= 0 && at < info->cells / 8; at += sizeof(all))
		e = blm_data_unite(ones, at, all,
				   info->cells / 8 - at < sizeof(all)
					   ? (size_t)(info->cells / 8 - at)
					   : sizeof(all));
	for (uint64_t bit = info->cells / 8 * 8; e >= 0 && bit < info->cells; bit++)
		e = blm_data_unite(ones, bit / 8, &(uint8_t){ (uint8_t)(1 << bit % 8) }, 1);
	free(info);
	for (unsigned step = 0; e >= 0 && step < steps; step += 4) {
		e = blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ ones },
				     1, 0, NULL);
		usleep(5000);
	}
	if (e < 0)
		fail(fd, e);
	blm_close(ones);
}

static void do_writers(const char *folder, uint64_t seed, unsigned steps, int fd)
{
	struct blm_store *store = open_store(folder, fd);
	struct report made = { .op = OP_CREATE };
	struct blm_filter *f;
	int e, status;

	e = blm_create(&f, store, "n0", &large[seed % SHAPES]);
	if (e < 0)
		fail(fd, e);
	made.done = 1;
	tell(fd, &made);
	for (uint32_t who = 0; who <= WRITERS; who++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (who < WRITERS)
			add_and_sync(f, who, seed + who, steps, fd);
		else if (seed / SHAPES % 2)
			replace_it(f, steps, fd);
		_exit(EXIT_SUCCESS);
	}
	while (wait(&status) > 0)
		;
	blm_close(f);
	blm_store_close(store);
}

static void do_unsynced(const char *folder, unsigned steps, int fd)
{
	struct report r = { .op = OP_CREATE, .done = 1 };
	struct blm_filter *f;
	char path[300];
	int e;

	in_folder(path, folder, "path.blm");
	e = blm_create(&f, NULL, path, &large[0]);
	if (e < 0)
		fail(fd, e);
	tell(fd, &r);
	r.op = OP_SYNCED;		/* a lie */
	for (unsigned step = 0; step < steps; step++) {
		e = add_from(f, 0, r.keys, r.keys + 1);
		if (e < 0)
			fail(fd, e);
		r.keys++;
		tell(fd, &r);
		usleep(1000);
	}
	blm_close(f);
}

void work_recover(const char *folder)
{
	char path[300], name[8];
	struct blm_store *store;
	struct blm_filter *f;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	in_folder(path, folder, "store");
	for (;;) {
		if (blm_store_verify(path, BLM_VERIFY_REPAIR, NULL, NULL) < 0
		    || blm_store_open(&store, path, BLM_STORE_CREATE) < 0)
			_exit(EXIT_FAILURE);
		for (unsigned i = 0; i < NAMES; i++)
			if (blm_open(&f, store, name_of(i, name), BLM_OPEN_WRITE) == 0) {
				blm_sync(f);
				blm_close(f);
			}
		blm_store_close(store);
	}
}

/* ---- Looking ---- */

struct looking {
	struct tally *to;
	char reason[400];
	const struct report *under_way;		/* NULL: none */
	const struct model *model;		/* without it */
	unsigned findings, wrong;
};

static __attribute__((format(printf, 2, 3))) bool no(struct looking *l, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(l->reason, sizeof(l->reason), format, ap);
	va_end(ap);
	return false;
}

static uint64_t missing(const struct blm_filter *f, uint32_t generation, uint32_t keys)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < keys; i++) {
		uint64_t key = key_of(generation, i);

		count += !blm_contains(f, &key, sizeof(key));
	}
	return count;
}

/* The catalog claims no more than the file holds. */
static bool honest(struct looking *l, struct blm_store *store, const char *name,
		   const struct blm_filter *f, struct blm_info *in_catalog,
		   struct blm_info *in_file)
{
	if (blm_info(f, in_file) < 0 || (store && blm_store_find(store, name, in_catalog) < 0))
		return no(l, "%s: %s", name, blm_error_message());
	if (!store)
		return true;
	if (memcmp(in_catalog->uuid, in_file->uuid, 16))
		return no(l, "%s: the catalog means another file", name);
	if (in_catalog->keys > in_file->keys)
		return no(l, "%s: the catalog tells of %llu keys, its file of %llu", name,
			  (unsigned long long)in_catalog->keys, (unsigned long long)in_file->keys);
	if (in_catalog->synced > in_file->synced)
		return no(l, "%s: the catalog tells of a sync that its file does not know", name);
	return true;
}

/*
 * Counters of which some pages are of then and some of now are no longer good for taking keys out.
 */
static bool gives_none_up(struct looking *l, struct blm_store *store, const char *name,
			  const struct blm_info *in_file, const struct slot *s)
{
	uint64_t key = key_of(s->generation, 0);
	struct blm_filter *f;
	int r;

	if (!in_file->dirty || strcmp(in_file->kind, "counting") || !s->keys)
		return true;
	r = blm_open(&f, store, name, BLM_OPEN_WRITE);
	if (r == 0) {
		r = blm_remove(f, &key, sizeof(key));
		blm_close(f);
	}
	return r == -EUCLEAN
	    || no(l, "%s: the cut came before the sync, and taking a key out gives %d: %s", name, r,
		  blm_error_message());
}

static bool is_so(struct looking *l, struct blm_store *store, const char *name,
		  const struct slot *s)
{
	struct blm_info *in_catalog = info_buffer(), *in_file = info_buffer();
	char label[32] = "";
	struct blm_filter *f = NULL;
	bool good = false;
	uint64_t lost;

	if (s->label)
		snprintf(label, sizeof(label), "at=%u\n", s->label);
	if (blm_open(&f, store, name, 0) < 0) {
		no(l, "%s: %s", name, blm_error_message());
	} else if (honest(l, store, name, f, in_catalog, in_file)) {
		lost = missing(f, s->generation, s->keys);
		l->to->lost += lost;
		l->to->keys += s->keys;
		if (lost)
			no(l, "%s: %llu of %u synced keys lost; the file has %llu, sealed %d", name,
			   (unsigned long long)lost, s->keys, (unsigned long long)in_file->keys,
			   in_file->sealed);
		else if (in_file->keys > s->counted)
			no(l, "%s: %llu keys are counted, which must be at most %u, for %u", name,
			   (unsigned long long)in_file->keys, s->counted, s->keys);
		else if (in_file->sealed != s->sealed)
			no(l, "%s: sealed is %d", name, in_file->sealed);
		else if (store && strcmp(in_catalog->labels, label))
			no(l, "%s: labels %s not %s", name, in_catalog->labels, label);
		else
			good = gives_none_up(l, store, name, in_file, s);
	}
	blm_close(f);
	free(in_catalog);
	free(in_file);
	return good;
}

static int count_one(void *context, const struct blm_info *info, int err)
{
	(void)info;
	++*(unsigned *)context;
	return err;
}

static bool are_so(struct looking *l, struct blm_store *store, const struct model *m)
{
	unsigned listed = 0, there = 0;
	struct tally before = *l->to;
	char name[8];

	for (unsigned i = 0; i < NAMES; i++) {
		there += m->slot[i].there;
		listed += !store && access(name_of(i, name), F_OK) == 0;
	}
	if (store && blm_store_list(store, NULL, count_one, &listed) < 0)
		return no(l, "listing: %s", blm_error_message());
	if (listed != there)
		return no(l, "%u filters, not %u", listed, there);
	for (unsigned i = 0; i < NAMES; i++)
		if (m->slot[i].there && !is_so(l, store, name_of(i, name), &m->slot[i])) {
			l->to->keys = before.keys;
			return false;
		}
	return true;
}

/* All that returned, and of the step under way nothing or all. */
static bool names_are_so(struct looking *l, struct blm_store *store, const struct model *m)
{
	uint64_t lost = l->to->lost;
	struct model after = *m;
	char reason[sizeof(l->reason)];

	if (are_so(l, store, m))
		return true;
	if (!l->under_way || l->under_way->op == OP_ADD)
		return false;
	memcpy(reason, l->reason, sizeof(reason));
	apply(&after, l->under_way);
	if (are_so(l, store, &after)) {
		l->to->lost = lost;
		return true;
	}
	printf("# neither as it was before: %s\n# nor as it is after %u: %s\n", reason,
	       l->under_way->op, l->reason);
	return false;
}

static bool writers_are_so(struct looking *l, struct blm_store *store, const uint32_t keys[3])
{
	struct blm_info *in_catalog = info_buffer(), *in_file = info_buffer();
	struct blm_filter *f = NULL;
	uint64_t lost = 0;
	bool good = false;

	if (blm_open(&f, store, "n0", 0) < 0) {
		no(l, "n0: %s", blm_error_message());
	} else if (honest(l, store, "n0", f, in_catalog, in_file)) {
		for (uint32_t who = 0; who < 3; who++) {
			lost += missing(f, who, keys[who]);
			l->to->keys += keys[who];
		}
		l->to->lost += lost;
		good = lost == 0
		    || no(l, "%llu synced keys lost of %u + %u + %u", (unsigned long long)lost,
			  keys[0], keys[1], keys[2]);
	}
	blm_close(f);
	free(in_catalog);
	free(in_file);
	return good;
}

/* ---- Verifying ---- */

static unsigned files_in(const char *folder, const char *inside, unsigned *ret_strange)
{
	char path[300];
	unsigned count = 0;
	DIR *list;

	in_folder(path, folder, inside);
	list = opendir(path);
	for (struct dirent *e; list && (e = readdir(list)); )
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			size_t len = strlen(e->d_name);

			count++;
			*ret_strange += len < 4
				     || (strcmp(e->d_name + len - 4, ".blm")
					 && strcmp(e->d_name + len - 4, ".mdb")
					 && strcmp(e->d_name, "lock"));
		}
	if (list)
		closedir(list);
	return count;
}

/*
 * What a cut may leave: files of the step under way, or of drops and replacements that returned;
 * all of that repair takes away.
 */
static void judge(void *context, const struct blm_finding *found)
{
	struct looking *l = context;
	unsigned name = strlen(found->file) > 2 && found->file[0] == 'n'
			      ? (unsigned)(found->file[1] - '0')
			      : NAMES;
	bool renames = strstr(found->what, "a rename from ")
		    && strstr(found->what, " was interrupted");
	bool lags = name < NAMES && l->model->slot[name].record_lags;
	bool misnamed =
		(renames || strstr(found->what, "does not have its name"))
		&& (lags || (l->under_way && l->under_way->op == OP_RENAME
			     && l->under_way->to == name));
	bool labels = strstr(found->what, "a change of its labels was interrupted")
		   && (lags || (l->under_way && l->under_way->op == OP_LABEL
				&& l->under_way->name == name));

	l->findings++;
	if ((strstr(found->what, "left behind by a process that died") || misnamed || labels)
	    && found->repaired)
		return;
	l->wrong++;
	printf("# found%s: %s: %s\n", found->repaired ? " and repaired" : "", found->file,
	       found->what);
}

static bool verified(struct looking *l, const char *store)
{
	int r = blm_store_verify(store, BLM_VERIFY_REPAIR, judge, l);

	l->to->findings += l->findings;
	if (r != 0)
		return no(l, "repair: %d, %s", r, blm_error_message());
	if (l->wrong)
		return no(l, "%u findings that no cut explains", l->wrong);
	r = blm_store_verify(store, 0, judge, l);
	return r == 0 || no(l, "after the repair: %d, %s", r, blm_error_message());
}

static bool tidy(struct looking *l, const char *path, struct blm_store *store)
{
	unsigned listed = 0, strange = 0, files = files_in(path, "filters", &strange);

	files_in(path, "catalog", &strange);
	files_in(path, "keys", &strange);
	if (blm_store_list(store, NULL, count_one, &listed) < 0)
		return no(l, "listing: %s", blm_error_message());
	if (files != listed)
		return no(l, "%u files of %u filters", files, listed);
	return !strange || no(l, "%u files that are nobody's", strange);
}

/* ---- Both ---- */

struct state {
	struct model model;
	struct report under_way;
	bool is_under_way, created;
	uint32_t generation;		/* the last */
	uint32_t keys[3];		/* of writers */
};

static void read_reports(struct state *s, const struct report *reports, size_t count,
			 struct tally *to)
{
	for (size_t i = 0; i < count; i++) {
		const struct report *r = &reports[i];

		if (r->op == OP_FAILED)
			continue;
		/*
		 * work that goes on opens the store before it settles what the cut came into, which
		 * is open until then
		 */
		if (r->op != OP_STORE || !s->is_under_way || s->under_way.op == OP_STORE) {
			s->is_under_way = !r->done;
			s->under_way = *r;
		}
		if (r->generation > s->generation)
			s->generation = r->generation;
		if (!r->done && r->op == OP_ADD)
			s->model.slot[r->name].counted += r->keys - s->model.slot[r->name].keys;
		if (!r->done)
			continue;
		to->steps++;
		s->created |= r->op == OP_CREATE;
		if (r->op != OP_SYNCED)
			apply(&s->model, r);
		else if (r->keys > s->keys[r->generation])
			s->keys[r->generation] = r->keys;
	}
}

static bool check_unsynced(struct looking *l, const char *folder, const struct state *s)
{
	struct blm_filter *f;
	char path[300];

	if (!s->created)
		return true;
	in_folder(path, folder, "path.blm");
	if (blm_open(&f, NULL, path, 0) < 0)
		return no(l, "%s", blm_error_message());
	l->to->lost += missing(f, 0, s->keys[0]);
	l->to->keys += s->keys[0];
	blm_close(f);
	return true;
}

static bool check_paths(struct looking *l, const char *folder, const struct state *s)
{
	char name[8];

	if (chdir(folder) < 0)
		return no(l, "%s: %s", folder, strerror(errno));
	if (!names_are_so(l, NULL, &s->model))
		return false;
	for (unsigned i = 0; i < NAMES; i++) {
		int r = blm_verify(NULL, name_of(i, name), 0, judge, l);

		if (r != 0 && r != -ENOENT)
			return no(l, "%s: %d, %s", name, r, blm_error_message());
	}
	return true;
}

static bool look(enum work work, struct looking *l, struct blm_store *store, const struct state *s)
{
	if (work == WORK_NAMES)
		return names_are_so(l, store, &s->model);
	return !s->created || writers_are_so(l, store, s->keys);
}

/* As the cut left it, without a repair; then repaired, which must change nothing of it. */
static bool check(enum work work, struct looking *l, const char *folder, const struct state *s)
{
	struct tally *to = l->to, again = { 0 };
	struct blm_store *store = NULL;
	char path[300];
	bool good;

	if (work == WORK_UNSYNCED)
		return check_unsynced(l, folder, s);
	if (work == WORK_PATHS)
		return check_paths(l, folder, s);
	in_folder(path, folder, "store");
	/*
	 * a store that was not acknowledged yet may be there or not; making it works either way
	 */
	if (blm_store_open(&store, path, s->model.store ? 0 : BLM_STORE_CREATE) < 0)
		return no(l, "the store: %s", blm_error_message());
	good = look(work, l, store, s) && verified(l, path);
	l->to = &again;			/* the same keys are not counted twice */
	good = good && look(work, l, store, s) && tidy(l, path, store);
	l->to = to;
	blm_store_close(store);
	return good;
}

static void show_last(const struct report *reports, size_t count)
{
	static const char *const names[] = { "store",  "create", "add",	    "publish", "rename",
					     "drop",   "clear",	 "rebuild", "seal",    "label",
					     "synced", "undone", "failed" };

	for (size_t i = count > 12 ? count - 12 : 0; i < count; i++)
		printf("#   %s %s n%u n%u generation %u keys %u\n",
		       reports[i].done ? "done " : "begun", names[reports[i].op], reports[i].name,
		       reports[i].to, reports[i].generation, reports[i].keys);
}

int work_check(enum work work, const char *folder, const struct report *reports, size_t count,
	       struct tally *to)
{
	struct looking l = { .to = to };
	struct state s = { .is_under_way = false };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (to->quiet && !freopen("/dev/null", "w", stdout))
			_exit(EXIT_FAILURE);
		read_reports(&s, reports, count, to);
		l.under_way = s.is_under_way ? &s.under_way : NULL;
		l.model = &s.model;
		if (check(work, &l, folder, &s))
			_exit(EXIT_SUCCESS);
		printf("# %s\n", l.reason);
		show_last(reports, count);
		fflush(stdout);
		_exit(EXIT_FAILURE);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status) && !to->quiet)
		printf("# looking at what is left ended with signal %d\n", WTERMSIG(status));
	return status == 0 ? 0 : -1;
}

/* ---- Doing ---- */

/* The step in which the last cut came was done completely or not at all; the filters show which. */
static void settle(struct blm_store *store, struct state *s, int fd)
{
	struct tally unused = { 0 };
	struct looking l = { .to = &unused };
	struct report r = s->under_way;
	struct model after = s->model;

	if (!s->is_under_way || r.op == OP_STORE)
		return;
	r.done = SETTLED;
	apply(&after, &r);
	/* an add that is done in part is not done; a seal of it can be seen, as can all else */
	if (r.op != OP_ADD && are_so(&l, store, &after))
		s->model = after;
	else
		r.op = OP_UNDONE;
	tell(fd, &r);
}

void work_do(enum work work, const char *folder, const struct report *earlier, size_t count,
	     uint64_t seed, unsigned steps, int fd)
{
	struct tally unused = { 0 };
	struct state s = { .is_under_way = false };
	struct blm_store *store = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	read_reports(&s, earlier, count, &unused);
	if (work == WORK_NAMES)
		store = open_store(folder, fd);
	else if (work == WORK_PATHS && chdir(folder) < 0)
		fail(fd, -errno);
	if (work == WORK_NAMES || work == WORK_PATHS) {
		settle(store, &s, fd);
		do_names(store, &s.model, s.generation, seed, steps, fd);
	} else if (work == WORK_WRITERS) {
		do_writers(folder, seed, steps, fd);
	} else {
		do_unsynced(folder, steps, fd);
	}
	_exit(EXIT_SUCCESS);
}
