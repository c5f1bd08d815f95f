/*
 * pageloss.c - whatever subset of a filter's pages reached the disk, no synced key is lost
 *
 * A filter passes through a life of adds, syncs, unions and clears, while the test keeps every
 * version of each of its pages and records which of them msync() and fsync() promised. Then it
 * makes power cuts: each page, or sector, or cache line of it, is taken at random from the versions
 * since the last promised one, and so is the length of a file that grows. Every such file must open
 * as it is, hold the keys of the last sync that returned and those that its own sync record states,
 * and show no damage. A kind that forgets must hold the keys that were not too old for it at the
 * cut. For some files the next steps of a program are recorded and cut again.
 */
#include "bloomery.h"
#include "../info.h"
#include "../kinds.h"
#include "fault.h"
#include "handle/handle.h"
#include "file/two_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 8, SEQUENCES = 256, PROBLEMS_SHOWN = 5 };
/* a caller that asks for this many or more gets at least this many of each life */
enum { STATES = 2000, STATES_EACH = 200 };

/* ---- What is known of the disk ---- */

struct version {
	unsigned moment;		/* from which on the page was so */
	uint8_t *bytes;
};

struct page {
	struct version *version;
	unsigned count;
};

struct length {
	unsigned moment;		/* from which on the file was so long */
	uint64_t bytes;
};

struct keys {
	uint64_t from, to;
};

struct file {
	int fd;
	ino_t inode;
	struct length *length;
	unsigned lengths;
	size_t pages;
	struct page *page;
	/* of the sync record with that sequence: the keys added before that sync began */
	struct keys claims[SEQUENCES];
};

enum what { FLUSHED, SYNCED, NAMED, NAME_FLUSHED, REMOVED };

struct event {
	enum what what;
	unsigned moment, file;
	size_t from, to;		/* FLUSHED: pages, as they were at `moment` */
	bool length;			/* FLUSHED: and the length of the file */
	/* SYNCED, NAMED: promised from now on; REMOVED: no more than these */
	struct keys keys;
	unsigned now;			/* the moment of the event itself */
	uint64_t added;			/* the first key that was not added by then */
};

/* The next slot of a window: its word, and the first key in it. */
struct turn {
	uint64_t word, from;
};

struct history {
	struct file file[FILES];
	/* named: the file that has the name, for all who are alive */
	unsigned files, named;
	struct event *event;
	size_t events;
	unsigned moment;
	struct keys keys;		/* added to the file that has the name */
	uint64_t counted;		/* before */
	struct turn *turn;		/* of a window */
	size_t turns;
	/*
	 * after a cut: the keys that had been added by then end before `before`, and go on from
	 * `base`
	 */
	uint64_t before, base;
	struct blm_filter *f;
	uint64_t random;
};

static struct history *watched;		/* NULL: no watcher */
/* a key is being added: a flush at this moment counts, and no other process adds */
static struct history *adding;
static bool flushes_are_ignored;	/* a disk that lies */

static void die(const char *what)
{
	printf("Bail out! %s: %s (%s)\n", what, strerror(errno), blm_error_message());
	exit(EXIT_FAILURE);
}

static void must(bool good, const char *what)
{
	if (!good)
		die(what);
}

static void *grown(void *array, size_t count, size_t bytes)
{
	if (count & (count - 1))
		return array;		/* the capacity doubles at powers of 2 */
	array = realloc(array, (count ? 2 * count : 1) * bytes);
	must(array != NULL, "memory");
	return array;
}

static void happened(struct history *h, struct event e)
{
	e.now = h->moment;
	e.added = h->keys.to;
	h->event = grown(h->event, h->events, sizeof(*h->event));
	h->event[h->events++] = e;
}

static void keep_page(struct page *p, unsigned moment, const uint8_t *bytes)
{
	p->version = grown(p->version, p->count, sizeof(*p->version));
	p->version[p->count].moment = moment;
	p->version[p->count].bytes = malloc(BLM_PAGE);
	must(p->version[p->count].bytes != NULL, "memory");
	memcpy(p->version[p->count++].bytes, bytes, BLM_PAGE);
}

/* A page that a file has got since is zeros, until it is written. */
static void look_at_length(struct history *h, struct file *file)
{
	static const uint8_t zeros[BLM_PAGE];
	size_t pages;
	struct stat st;

	must(fstat(file->fd, &st) == 0, "the length of a watched file");
	if (file->lengths && file->length[file->lengths - 1].bytes == (uint64_t)st.st_size)
		return;
	file->length = grown(file->length, file->lengths, sizeof(*file->length));
	file->length[file->lengths++] = (struct length){ .moment = h->moment,
							 .bytes = (uint64_t)st.st_size };
	pages = ((size_t)st.st_size + BLM_PAGE - 1) / BLM_PAGE;
	if (pages <= file->pages)
		return;
	file->page = realloc(file->page, pages * sizeof(*file->page));
	must(file->page != NULL, "memory");
	for (; file->pages < pages; file->pages++) {
		file->page[file->pages] = (struct page){ 0 };
		if (file->lengths > 1)
			keep_page(&file->page[file->pages], 0, zeros);
	}
}

/* Keep the pages that are not as they were when they were looked at last. */
static void look_at(struct history *h, struct file *file)
{
	static uint8_t chunk[256 * BLM_PAGE];

	look_at_length(h, file);
	for (size_t first = 0; first < file->pages; first += 256) {
		ssize_t got = pread(file->fd, chunk, sizeof(chunk), (off_t)(first * BLM_PAGE));

		must(got > 0, "reading a watched file");
		memset(chunk + got, 0, sizeof(chunk) - (size_t)got);
		for (size_t i = 0; i < 256 && first + i < file->pages; i++) {
			struct page *p = &file->page[first + i];
			uint8_t *now = chunk + i * BLM_PAGE;

			if (!p->count || memcmp(p->version[p->count - 1].bytes, now, BLM_PAGE))
				keep_page(p, h->moment, now);
		}
	}
}

static unsigned look(struct history *h)
{
	h->moment++;
	for (unsigned i = 0; i < h->files; i++)
		look_at(h, &h->file[i]);
	return h->moment;
}

static unsigned watch_file(struct history *h, int fd)
{
	struct file *file = &h->file[h->files];
	struct stat st;

	must(h->files < FILES && fstat(fd, &st) == 0, "watching a file");
	*file = (struct file){ .fd = dup(fd), .inode = st.st_ino };
	must(file->fd >= 0, "watching a file");
	look_at_length(h, file);
	return h->files++;
}

/* All of a file is on the disk as it is now. */
static void all_flushed(struct history *h, unsigned i)
{
	look(h);
	happened(h, (struct event){ .what = FLUSHED,
				    .moment = h->moment,
				    .file = i,
				    .to = h->file[i].pages,
				    .length = true });
}

static void forget(struct history *h)
{
	for (unsigned i = 0; i < h->files; i++) {
		for (size_t p = 0; p < h->file[i].pages; p++) {
			for (unsigned v = 0; v < h->file[i].page[p].count; v++)
				free(h->file[i].page[p].version[v].bytes);
			free(h->file[i].page[p].version);
		}
		free(h->file[i].page);
		free(h->file[i].length);
		close(h->file[i].fd);
	}
	free(h->event);
	free(h->turn);
	*h = (struct history){ 0 };
}

/* ---- What the library asks of the system ---- */

int __real_msync(void *at, size_t bytes, int flags);
int __wrap_msync(void *at, size_t bytes, int flags);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);

static void add_keys(struct history *h, unsigned count);

/* Which file is mapped there, and from where on? */
static bool find_mapping(uint64_t at, ino_t *ret_inode, uint64_t *ret_offset)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long from, to, offset;
	unsigned long inode;
	char line[512];
	bool found = false;

	must(maps != NULL, "/proc/self/maps");
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx %*s %lu", &from, &to, &offset, &inode) == 4
		    && at >= from && at < to) {
			*ret_inode = inode;
			*ret_offset = offset + at - from;
			found = true;
		}
	fclose(maps);
	return found;
}

/* While a flush runs, others add: what it promises is the file as it was when it began. */
int __wrap_msync(void *at, size_t bytes, int flags)
{
	struct history *h = watched;
	uint64_t offset = 0;
	ino_t inode = 0;
	unsigned begun;

	if (!h && !adding)
		return __real_msync(at, bytes, flags);
	must(flags == MS_SYNC, "an msync() that promises nothing");
	if (h) {
		begun = look(h);
		watched = NULL;
		adding = h;
		add_keys(h, one_of(&h->random, 4));
		adding = NULL;
		watched = h;
		look(h);
	} else {
		h = adding;
		begun = look(h);
	}
	must(find_mapping((uint64_t)(uintptr_t)at, &inode, &offset), "finding a mapping");
	for (unsigned i = 0; i < h->files && !flushes_are_ignored; i++)
		if (h->file[i].inode == inode)
			happened(h, (struct event){ .what = FLUSHED,
						    .moment = begun,
						    .file = i,
						    .from = (size_t)(offset / BLM_PAGE),
						    .to = (size_t)((offset + bytes + BLM_PAGE - 1)
								   / BLM_PAGE) });
	return 0;
}

/* A process that grows a file asks for its length by this call. */
int __wrap_fdatasync(int fd)
{
	struct history *h = watched ? watched : adding;
	struct stat st;

	if (!h)
		return __real_fdatasync(fd);
	must(fstat(fd, &st) == 0, "fstat");
	for (unsigned i = 0; i < h->files && !flushes_are_ignored; i++)
		if (h->file[i].inode == st.st_ino)
			all_flushed(h, i);
	return 0;
}

/* A file that is synced before it has its name, or a folder, after a name in it has changed. */
int __wrap_fsync(int fd)
{
	struct history *h = watched;
	struct stat st;

	if (!h)
		return __real_fsync(fd);
	must(fstat(fd, &st) == 0, "fstat");
	if (S_ISDIR(st.st_mode))
		happened(h, (struct event){ .what = NAME_FLUSHED, .file = h->named });
	else
		all_flushed(h, watch_file(h, fd));
	return 0;
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	struct history *h = watched;
	int r = __real_renameat(from_folder, from, to_folder, to);

	if (h && r == 0) {
		look(h);
		h->named = h->files - 1;
		h->keys.from = h->keys.to;	/* only blm_clear() does this here */
		happened(h, (struct event){ .what = NAMED, .file = h->named, .keys = h->keys });
	}
	return r;
}

/* ---- Lives ---- */

struct life {
	const char *name;
	struct blm_params params;
	unsigned rounds, batch;
	/* goes_back: to the last sync, with what was removed since */
	bool unite, clear, remove, goes_back;
	bool announces;			/* of a kind that minds cuts */
	bool numbers, values;		/* keys are numbers below 4 million; are put */
	/* of a window: the keys of this number and one more are there, and none of before */
	unsigned slots;
	/* of its last keys, as many as its capacity, some may be missing: see forgotten() */
	bool forgets;
};
static const struct life *living;	/* which one it is */

/* then those of kinds that are not named here */
static struct life lives[64] = {
	{ "blocked, one block", BLM_PARAMS(.kind = "blocked", .capacity = 5000, .rate = 0.001), 8,
	  150 },
	{ "classic, one block", BLM_PARAMS(.kind = "classic", .cells = 100003, .probes = 7), 8,
	  150 },
	{ "blocked, several blocks",
	  BLM_PARAMS(.kind = "blocked", .capacity = 150000, .rate = 0.001), 8, 1500 },
	{ "classic, several blocks", BLM_PARAMS(.kind = "classic", .cells = 2000003, .probes = 5),
	  8, 1500 },
	{ "sparse, above 2 MiB",
	  BLM_PARAMS(.kind = "classic", .cells = 18000000, .probes = 3, .sparse = true), 5, 40 },
	{ "hash-compact", BLM_PARAMS(.kind = "hash-compact", .capacity = 20000, .rate = 0.0001), 8,
	  300 },
	{ "split-block", BLM_PARAMS(.kind = "split-block", .capacity = 100000, .rate = 0.001), 6,
	  1000 },
	{ "union in place", BLM_PARAMS(.kind = "blocked", .capacity = 20000, .rate = 0.001), 7, 200,
	  .unite = true },
	{ "counting", BLM_PARAMS(.kind = "counting", .capacity = 30000, .rate = 0.01), 8, 300,
	  .announces = true },
	{ "counting, down again", BLM_PARAMS(.kind = "counting", .capacity = 30000, .rate = 0.01),
	  8, 300, .announces = true, .remove = true },
	{ "cuckoo, one block", BLM_PARAMS(.kind = "cuckoo", .capacity = 4000, .rate = 1e-8), 8,
	  1000, .remove = true, .goes_back = true },
	{ "cuckoo, several blocks", BLM_PARAMS(.kind = "cuckoo", .capacity = 40000, .rate = 1e-8),
	  8, 8000, .remove = true, .goes_back = true },
	{ "cuckoo, sparse",
	  BLM_PARAMS(.kind = "cuckoo", .capacity = 300000, .rate = 1e-8, .sparse = true), 5, 200,
	  .remove = true, .goes_back = true },
	{ "recent",
	  BLM_PARAMS(.kind = "recent", .capacity = 40000, .rate = 1e-8,
		     .options = "span=1h,tick=0.1"),
	  8, 8000, .remove = true, .goes_back = true },
	{ "redis-cuckoo", BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 60000, .rate = 0.02), 8,
	  3000, .remove = true, .goes_back = true },
	{ "iblt, one block", BLM_PARAMS(.kind = "iblt", .capacity = 600, .options = "key-bytes=8"),
	  8, 150, .remove = true, .goes_back = true },
	{ "iblt, several blocks",
	  BLM_PARAMS(.kind = "iblt", .capacity = 12000, .options = "key-bytes=8"), 8, 1500,
	  .remove = true, .goes_back = true },
	{ "d-left, several blocks", BLM_PARAMS(.kind = "d-left", .capacity = 40000, .rate = 1e-6),
	  8, 8000, .remove = true },
	{ "removable", BLM_PARAMS(.kind = "removable", .capacity = 100000, .rate = 0.001), 8,
	  1000 },
	{ "attenuated", BLM_PARAMS(.kind = "attenuated", .capacity = 50000, .rate = 0.001), 8,
	  600 },
	{ "scalable, growing", BLM_PARAMS(.kind = "scalable", .capacity = 400, .rate = 0.001), 8,
	  1200 },
	{ "window, turning",
	  BLM_PARAMS(.kind = "window", .capacity = 8000, .rate = 0.001, .options = "slots=4"), 8,
	  4000, .slots = 4 },
	{ "bitmap", BLM_PARAMS(.kind = "bitmap", .cells = 4000000), 8, 3000, .numbers = true },
	{ "approximator", BLM_PARAMS(.kind = "approximator", .capacity = 20000, .rate = 0.001), 8,
	  600, .values = true },
	{ "stable",
	  BLM_PARAMS(.kind = "stable", .capacity = 3000, .rate = 0.01, .options = "bits=2"), 8, 600,
	  .forgets = true },
	{ "cleared again and again", BLM_PARAMS(.kind = "classic", .capacity = 8000, .rate = 0.001),
	  8, 150, .clear = true },
};
static unsigned life_count, lives_named;	/* how many; those that are named here */

static bool is_in_list(const char *name)
{
	for (unsigned i = 0; lives[i].name; i++)
		if (!strcmp(name, lives[i].params.kind))
			return true;
	return false;
}

/* A kind that rotates must be named, so that the test knows how long it keeps a key. */
static void take_kinds_of_registry(void)
{
	struct blm_kind_info others[16];
	unsigned more = other_kinds(BLM_CAN_ADD | BLM_CAN_PUT, 0, is_in_list, others, 16);

	while (lives[lives_named].name)
		lives_named++;
	life_count = lives_named;
	for (unsigned i = 0; i < more; i++) {
		const struct blm_kind *kind = blm_kind_by_name(others[i].name);
		bool exact = others[i].can & BLM_EXACT, removes = others[i].can & BLM_CAN_REMOVE;

		must(!(others[i].can & BLM_CAN_ROTATE), "name the kind that rotates here");
		lives[life_count++] = (struct life){
			.name = others[i].name,
			.params = usual_params(&others[i], exact ? 4000000 : 20000, 0.001),
			.rounds = 8, .batch = 600,
			.remove = removes && kind_has_single_writer(kind),
			.goes_back = kind_has_checkpoint(kind),
			.announces = kind_may_be_torn(kind),
			.numbers = exact, .values = !(others[i].can & BLM_CAN_ADD),
			.forgets = kind->forgets
		};
	}
}

/* keys to ask for where any of them will do */
enum { MANY = 100000 };
enum { NEW_KEYS = 3999000, NEW_KEYS_END = 3999100 };		/* which no life comes to */

static int add_key(struct blm_filter *f, uint64_t key)
{
	char text[24];

	if (living->values)
		return blm_put(f, &key, sizeof(key), 1);
	if (!living->numbers)
		return blm_add(f, &key, sizeof(key));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)key);
	return blm_add(f, text, strlen(text));
}

static bool has_key(const struct blm_filter *f, uint64_t key)
{
	char text[24];

	if (!living->numbers)
		return blm_contains(f, &key, sizeof(key));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)key);
	return blm_contains(f, text, strlen(text));
}

static uint64_t newest_slot(const struct blm_filter *f)
{
	return load_acquire(own_word(&current_view(f)->root, 0));
}

static void look_at_turn(struct history *h, uint64_t key)
{
	uint64_t word = living->slots ? newest_slot(h->f) : 0;

	if (!word || (h->turns && h->turn[h->turns - 1].word == word))
		return;
	h->turn = grown(h->turn, h->turns, sizeof(*h->turn));
	h->turn[h->turns++] = (struct turn){ .word = word, .from = key };
}

/* Can it take this many without another part or slot? */
static bool has_space(const struct history *h, unsigned count)
{
	const struct blm_view *view = current_view(h->f);

	return !view->root.kind->space
	    || view->root.kind->space(&view->root, blm_counted_keys(view)) > count;
}

static void add_keys(struct history *h, unsigned count)
{
	struct history *watching = watched, *before = adding;

	/* a flush is running, and who needs more room then waits for it: here for ever */
	if (before && !has_space(h, count))
		return;
	watched = NULL;
	adding = watching || before ? h : NULL;
	for (; count; count--) {
		int r = add_key(h->f, h->keys.to);

		must(r >= 0 || r == -EXFULL, "adding");
		if (r == -EXFULL)
			break;
		look_at_turn(h, h->keys.to++);
	}
	watched = watching;
	adding = before;
}

/* The oldest ones. */
static void remove_keys(struct history *h, unsigned count)
{
	struct history *watching = watched;

	watched = NULL;
	adding = h;
	for (; count && h->keys.from < h->keys.to; count--) {
		must(blm_remove(h->f, &h->keys.from, sizeof(h->keys.from)) == 1, "removing");
		h->keys.from++;
	}
	watched = watching;
	adding = NULL;
	happened(h, (struct event){ .what = REMOVED, .file = h->named, .keys = h->keys });
}

static void sync_keys(struct history *h)
{
	struct file *file = &h->file[h->named];
	struct blm_sync_record last = { 0 };
	struct blm_header *header = malloc(sizeof(*header));
	struct keys promised = h->keys;
	uint64_t sequence;

	must(header && pread(file->fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header),
	     "reading the header");
	sequence = blm_last_sync(&header->live, header->constant.uuid, &last)
			 ? le64toh(last.sequence) + 1
			 : 1;
	free(header);
	must(sequence < SEQUENCES, "counting syncs");
	file->claims[sequence] = promised;
	must(blm_sync(h->f) == 0, "syncing");
	look(h);
	happened(h, (struct event){ .what = SYNCED, .file = h->named, .keys = promised });
}

static void unite_keys(struct history *h, unsigned count)
{
	struct blm_filter *other;

	watched = NULL;
	must(blm_template(&other, NULL, NULL, h->f, 0) == 0, "making a twin");
	for (; count; count--) {
		uint64_t key = h->keys.to++;

		must(blm_add(other, &key, sizeof(key)) >= 0, "adding");
	}
	must(blm_combine_into(h->f, BLM_UNION, (const struct blm_filter *const[]){ other }, 1, 0,
			      NULL)
		     == 0,
	     "uniting");
	blm_close(other);
	watched = h;
}

/* Begin to watch the file at path, which is on the disk as it is. */
static void watch(struct history *h, const char *path, struct keys keys, uint64_t random)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*h = (struct history){ .keys = keys, .random = random };
	must(fd >= 0 && blm_open(&h->f, NULL, path, BLM_OPEN_WRITE) == 0, "opening");
	watch_file(h, fd);
	close(fd);
}

static void begin(struct history *h, struct keys promised)
{
	bool estimated;

	must(blm_count(h->f, &h->counted, &estimated) == 0, "counting");
	happened(h, (struct event){ .what = NAMED, .keys = promised });
	happened(h, (struct event){ .what = NAME_FLUSHED });
	watched = h;
}

static void live(struct history *h, const struct life *life, unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned batches = 1 + one_of(&h->random, 3); batches; batches--) {
			if (life->unite && one_of(&h->random, 2))
				unite_keys(h, 1 + one_of(&h->random, life->batch));
			else
				add_keys(h, 1 + one_of(&h->random, life->batch));
			if (life->remove && one_of(&h->random, 2))
				remove_keys(h, 1 + one_of(&h->random, life->batch / 2));
			look(h);
		}
		if (life->clear && !one_of(&h->random, 3) && h->files < FILES - 1) {
			must(blm_clear(h->f) == 0, "clearing");
			look(h);
		} else {
			sync_keys(h);
		}
	}
}

static void end(struct history *h)
{
	watched = NULL;
	h->f = blm_close(h->f);
}

/* ---- Cuts ---- */

struct cut {
	unsigned file;			/* that has the name after it */
	unsigned since;			/* the moment from which on the file's length is promised */
	struct keys promised;
	uint64_t added, before, base;	/* as of the history: see age() */
	const struct turn *turn;
	size_t turns;			/* also of those that came later */
	const struct keys *claims;
	uint64_t counted;		/* keys that were there when it was first looked at */
};

/* The version that a page had at a moment. */
static unsigned version_at(const struct page *p, unsigned moment)
{
	unsigned v = p->count - 1;

	while (v && p->version[v].moment > moment)
		v--;
	return v;
}

/* Which of a file's lengths. */
static unsigned length_at(const struct file *file, unsigned moment)
{
	unsigned v = file->lengths - 1;

	while (v && file->length[v].moment > moment)
		v--;
	return v;
}

static unsigned choose(uint64_t *random, unsigned oldest, unsigned newest, unsigned habit)
{
	unsigned dice = one_of(random, 8);

	if (habit == 1 && dice)		/* almost nothing reached the disk */
		return oldest;
	if (habit == 2 && dice)		/* almost all */
		return newest;
	return oldest + one_of(random, newest - oldest + 1);
}

/*
 * The power goes right after the event: which file has the name, and since when is each page of it
 * promised?
 */
static struct cut what_is_promised(struct history *h, size_t last, unsigned *since,
				   uint64_t *random)
{
	struct cut cut = { 0 };
	struct keys promised[FILES] = { { 0 } };
	unsigned flushed = 0, named = 0;

	for (size_t e = 0; e <= last; e++)
		switch (h->event[e].what) {
		case NAMED:
			named = h->event[e].file;
			promised[named] = h->event[e].keys;
			break;
		case NAME_FLUSHED:
			flushed = named;
			break;
		case SYNCED:
			promised[h->event[e].file] = h->event[e].keys;
			break;
		case REMOVED:
			if (promised[h->event[e].file].from < h->event[e].keys.from)
				promised[h->event[e].file].from = h->event[e].keys.from;
			break;
		case FLUSHED:
			break;
		}
	cut.file = one_of(random, 2) ? flushed : named;
	cut.promised = promised[cut.file];
	cut.claims = h->file[cut.file].claims;
	cut.counted = h->counted;
	cut.before = h->before;
	cut.base = h->base;
	cut.turn = h->turn;
	cut.turns = h->turns;
	cut.added = last + 1 < h->events ? h->event[last + 1].added : h->keys.to;
	memset(since, 0, h->file[cut.file].pages * sizeof(*since));
	for (size_t e = 0; e <= last; e++)
		if (h->event[e].what == FLUSHED && h->event[e].file == cut.file) {
			if (h->event[e].length && h->event[e].moment > cut.since)
				cut.since = h->event[e].moment;
			for (size_t p = h->event[e].from;
			     p < h->event[e].to && p < h->file[cut.file].pages; p++)
				if (h->event[e].moment > since[p])
					since[p] = h->event[e].moment;
		}
	return cut;
}

/* After the cut the machine starts again, under another boot number. */
static void boot_again(int fd, uint64_t *random)
{
	off_t at = offsetof(struct blm_header, live) + offsetof(struct blm_live, boot);
	uint64_t boot = 0;

	must(pread(fd, &boot, sizeof(boot), at) == sizeof(boot), "reading the boot number");
	if (boot)
		boot = next_random(random) | 1;
	must(pwrite(fd, &boot, sizeof(boot), at) == sizeof(boot), "writing the boot number");
}

/* Write the file as a power cut at a random moment leaves it. */
static struct cut cut_at_random(struct history *h, const char *path, size_t unit, uint64_t *random)
{
	size_t most = 0, last = (size_t)(next_random(random) % h->events), written = 0;
	unsigned habit = one_of(random, 3), now, *since;
	const struct file *file;
	struct cut cut;
	uint64_t end;
	int fd;

	/* the first tell what was there before */
	if (last < 2)
		last = 2 < h->events ? 2 : h->events - 1;
	for (unsigned i = 0; i < h->files; i++)
		most = h->file[i].pages > most ? h->file[i].pages : most;
	since = malloc(most * sizeof(*since));
	must(since != NULL, "memory");
	cut = what_is_promised(h, last, since, random);
	/* up to the next event, which did not happen */
	now = last + 1 < h->events ? h->event[last + 1].now : h->moment;
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	file = &h->file[cut.file];
	end = file->length[choose(random, length_at(file, cut.since), length_at(file, now), habit)]
		      .bytes;
	must(fd >= 0 && ftruncate(fd, (off_t)end) == 0, path);
	for (size_t i = 0; i < file->pages && i * BLM_PAGE < end; i++) {
		const struct page *p = &file->page[i];
		unsigned oldest = version_at(p, since[i]), newest = version_at(p, now);
		uint8_t bytes[BLM_PAGE];
		static const uint8_t zeros[BLM_PAGE];
		size_t left = end - i * BLM_PAGE;

		if (newest < oldest)
			newest = oldest;
		for (size_t at = 0; at < BLM_PAGE; at += unit)
			memcpy(bytes + at,
			       p->version[choose(random, oldest, newest, habit)].bytes + at, unit);
		left = left < BLM_PAGE ? left : BLM_PAGE;
		if (memcmp(bytes, zeros, BLM_PAGE))
			must(pwrite(fd, bytes, left, (off_t)(i * BLM_PAGE)) == (ssize_t)left,
			     "writing what the cut left");
		written++;
	}
	boot_again(fd, random);
	close(fd);
	free(since);
	must(written > 0, "cutting");
	return cut;
}

/* ---- What must hold ---- */

struct tally {
	uint64_t states, twice, keys, lost, denied, false_damage, refused, clean, torn;
	unsigned display;
};

static void tell(void *context, const struct blm_finding *found)
{
	struct tally *t = context;

	t->false_damage++;
	if (!flushes_are_ignored && t->display++ < PROBLEMS_SHOWN)
		printf("# damage where there is none: %s: %s\n", found->file, found->what);
}

static uint64_t missing(const struct blm_filter *f, struct keys keys)
{
	uint64_t count = 0;

	for (uint64_t key = keys.from; key < keys.to; key++)
		count += !has_key(f, key);
	return count;
}

/* How many keys had come by the cut since this one, and itself. */
static uint64_t age(const struct cut *cut, uint64_t key)
{
	return key >= cut->base ? cut->added - key : cut->before - key + cut->added - cut->base;
}

/* Those that a kind that forgets must still have: of an age up to its capacity. */
static struct keys remembered(struct keys keys, const struct cut *cut, const struct life *life)
{
	uint64_t most = life->params.capacity, oldest;

	if (!life->slots && !life->forgets)
		return keys;
	if (cut->added - cut->base >= most)
		oldest = cut->added - most;
	else
		oldest = cut->before > most - (cut->added - cut->base)
			       ? cut->before - (most - (cut->added - cut->base))
			       : 0;
	if (keys.from < oldest)
		keys.from = oldest < keys.to ? oldest : keys.to;
	return keys;
}

/*
 * How many of these a stable filter may have forgotten: at least d-th fading of one of a key's
 * cells, each cell P/m times with each key that came since, as in lib/kind/stable.c; twice that and
 * 10, since each file is held to it.
 */
static uint64_t forgotten(const struct blm_filter *f, struct keys keys, const struct cut *cut)
{
	const struct blm_shape *s = &current_view(f)->root.shape;
	double sum = 0;

	for (uint64_t key = keys.from; key < keys.to; key++) {
		double mean = (double)age(cut, key) * (double)s->args[1] / (double)s->cells,
		       term = exp(-mean), below = 0;

		for (unsigned v = 0; v < (1u << s->cell_bits) - 1; v++, term *= mean / v)
			below += term;
		sum += 1 - pow(below, s->probes);
	}
	return (uint64_t)(2 * sum) + 10;
}

/* How many of these keys are not there that should be? */
static uint64_t lost_of(const struct blm_filter *f, struct keys promised, const struct cut *cut,
			const struct life *life)
{
	struct keys keys = remembered(promised, cut, life);
	uint64_t count = missing(f, keys), may = life->forgets ? forgotten(f, keys, cut) : 0;

	return count > may ? count : 0;
}

/* Keys from before a clear: none is there, but for false positives. */
static uint64_t half_cleared(const struct blm_filter *f, uint64_t before)
{
	uint64_t asked = before < MANY ? before : MANY,
		 there = asked - missing(f, (struct keys){ before - asked, before });

	return there > 10 + asked / 20 ? there : 0;
}

/*
 * In a window: keys that have left it, by the newest slot that the file states: the keys of the two
 * slots that ended last.
 */
static uint64_t come_back(const struct blm_filter *f, const struct cut *cut,
			  const struct life *life)
{
	uint64_t word = life->slots && !cut->base ? newest_slot(f) : 0, asked, there;
	size_t i = cut->turns;

	while (i && cut->turn[i - 1].word != word)
		i--;
	if (!word || i < life->slots + 3)
		return 0;
	i -= life->slots + 3;		/* the first slot that its part was */
	asked = cut->turn[i + 2].from - cut->turn[i].from;
	there = asked - missing(f, (struct keys){ cut->turn[i].from, cut->turn[i + 2].from });
	return there > 10 + asked / 100 ? there : 0;
}

static void complain(struct tally *t, const char *what, uint64_t count, const struct life *life)
{
	if (count && !flushes_are_ignored && t->display++ < PROBLEMS_SHOWN)
		printf("# %s: %s: %llu (%s)\n", life->name, what, (unsigned long long)count,
		       blm_error_message());
}

static uint64_t counted_less(const struct blm_header *header, uint64_t keys)
{
	uint64_t sum = 0;

	for (int i = 0; i < BLM_STRIPES; i++)
		sum += le64toh(header->stripe[i].keys);
	return sum < keys ? keys - sum : 0;
}

/* What the file's own sync record covers must be there too, even if no process was told so. */
static void check_claims(const char *path, const struct blm_filter *f, const struct cut *cut,
			 struct tally *t, const struct life *life)
{
	struct blm_header *header = malloc(sizeof(*header));
	struct blm_sync_record last = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(header && fd >= 0 && read(fd, header, sizeof(*header)) == (ssize_t)sizeof(*header),
	     "reading the header");
	if (blm_last_sync(&header->live, header->constant.uuid, &last)) {
		struct keys claimed = cut->claims[le64toh(last.sequence) % SEQUENCES];
		uint64_t lost;

		if (!life->goes_back && claimed.from < cut->promised.from)
			claimed.from = cut->promised.from;
		lost = lost_of(f, claimed, cut, life);

		if (!header->live.inexact.word && !life->remove
		    && le64toh(last.keys) > cut->counted + claimed.to - claimed.from)
			lost += le64toh(last.keys) - (cut->counted + claimed.to - claimed.from);
		complain(t, "the sync record claims keys that are not there", lost, life);
		t->denied += lost;
		/* a checkpoint image has its count from the record */
		lost = life->remove ? 0 : counted_less(header, le64toh(last.keys));
		complain(t, "the sync record claims keys that are not counted", lost, life);
		t->denied += lost;
	} else {
		t->denied += cut->promised.to > cut->promised.from && !life->clear;
	}
	close(fd);
	free(header);
}

/*
 * A file that looks clean, of a kind that notices power cuts, is exactly the filter of the keys
 * that its sync record states.
 */
static void check_clean(const struct blm_filter *f, const struct cut *cut, struct tally *t,
			const struct life *life)
{
	struct blm_info *info = info_buffer();
	struct blm_filter *twin;
	uint8_t *a, *b;

	must(info && blm_info(f, info) == 0, "asking");
	if (!info->dirty) {
		a = malloc(info->data_bytes), b = malloc(info->data_bytes);
		must(a && b && blm_template(&twin, NULL, NULL, f, 0) == 0, "making a twin");
		for (uint64_t key = cut->promised.from; key < cut->promised.to; key++)
			must(blm_add(twin, &key, sizeof(key)) == 1, "adding");
		must(blm_data_read(f, 0, a, info->data_bytes) == 0
			     && blm_data_read(twin, 0, b, info->data_bytes) == 0,
		     "reading");
		complain(t, "a torn file looks clean", memcmp(a, b, info->data_bytes) != 0, life);
		t->torn += memcmp(a, b, info->data_bytes) != 0;
		t->clean++;
		blm_close(twin);
		free(a), free(b);
	}
	free(info);
}

static void check(const char *path, const struct cut *cut, struct tally *t, const struct life *life)
{
	struct blm_filter *f;
	struct keys keys;
	uint64_t lost;
	int r = blm_open(&f, NULL, path, 0);

	t->states++;
	if (r < 0) {
		t->refused++;
		complain(t, "does not open", 1, life);
		return;
	}
	keys = remembered(cut->promised, cut, life);
	lost = lost_of(f, cut->promised, cut, life);
	complain(t, "synced keys lost", lost, life);
	t->lost += lost;
	t->keys += keys.to - keys.from;
	/*
	 * a slot of a window may take more keys after a cut than it is for, and then says yes to
	 * more
	 */
	lost = life->remove || life->forgets || life->slots ? 0
							    : half_cleared(f, cut->promised.from);
	complain(t, "keys there that were cleared", lost, life);
	t->denied += lost;
	lost = come_back(f, cut, life);
	complain(t, "keys there that had left the window", lost, life);
	t->denied += lost;
	check_claims(path, f, cut, t, life);
	blm_close(f);
	r = blm_verify(NULL, path, 0, tell, t);
	if (r < 0) {
		t->refused++;
		complain(t, "cannot be verified", 1, life);
	}
}

/*
 * The promise of the last sync that returned is that of the file, unless the next one's record was
 * on the disk already.
 */
static void check_last(const char *path, const struct cut *cut, struct tally *t,
		       const struct life *life)
{
	struct cut last = *cut;
	struct blm_header *header = malloc(sizeof(*header));
	struct blm_sync_record record = { 0 };
	struct blm_filter *f;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(header && fd >= 0 && read(fd, header, sizeof(*header)) == (ssize_t)sizeof(*header),
	     "reading the header");
	if (blm_last_sync(&header->live, header->constant.uuid, &record))
		last.promised = cut->claims[le64toh(record.sequence) % SEQUENCES];
	close(fd);
	free(header);
	must(blm_open(&f, NULL, path, 0) == 0, "opening");
	check_clean(f, &last, t, life);
	blm_close(f);
}

/*
 * Adds one of the new keys and tells which; an error of the last that was tried. A filter that was
 * nearly full at the cut may have no room for a key and still have it for most others.
 */
static int add_new_key(struct blm_filter *f, uint64_t *key)
{
	int r = -EXFULL;

	for (*key = NEW_KEYS; *key < NEW_KEYS_END; ++*key) {
		r = add_key(f, *key);
		if (r != -EXFULL)
			break;
	}
	return r;
}

/*
 * A kind that may be torn can have parts of the keys that came since the last sync, and to remove
 * these would take from others. So it removes none. (Where nothing was lost it is as it was synced,
 * and to remove a key that is not there is the caller's risk.)
 */
static void take_out_what_was_not_synced(struct blm_filter *f, const struct cut *cut)
{
	struct blm_info *info = info_buffer();

	must(info && blm_info(f, info) == 0, "asking");
	for (uint64_t key = cut->promised.to; info->dirty && key < cut->added; key++)
		must(blm_remove(f, &key, sizeof(key)) == -EUCLEAN, "removing after a cut");
	free(info);
}

/*
 * So that a key finds room where it was full. A kind that minds cuts gives nothing up after one, or
 * the very keys. Returns how many went.
 */
static uint64_t make_space(struct blm_filter *f, const struct cut *cut, const struct life *life)
{
	uint64_t key = cut->promised.from, most = life->remove ? key + 100 : key;
	struct blm_info *info = info_buffer();

	must(info && blm_info(f, info) == 0, "asking");
	for (; key < most && key < cut->promised.to; key++) {
		int r = blm_remove(f, &key, sizeof(key));

		if (r == -EUCLEAN && life->announces && info->dirty)
			break;
		must(r >= 0, "removing");
	}
	free(info);
	return key - cut->promised.from;
}

/* It goes on: opened for writing, synced, all there, no damage. */
static void check_after(const char *path, const struct cut *cut, struct tally *t,
			const struct life *life)
{
	struct cut after = *cut;
	struct blm_filter *f;
	struct keys keys;
	uint64_t new_key, lost;
	int r = blm_open(&f, NULL, path, BLM_OPEN_WRITE);

	if (r == 0 && life->announces)
		take_out_what_was_not_synced(f, cut);
	if (r == 0)
		after.promised.from += make_space(f, cut, life);
	if (r < 0 || add_new_key(f, &new_key) < 0 || blm_sync(f) < 0) {
		t->refused++;
		complain(t, "cannot be added to", 1, life);
		return;
	}
	after.added++;
	keys = remembered(after.promised, &after, life);
	lost = lost_of(f, after.promised, &after, life) + !has_key(f, new_key);
	t->keys += keys.to - keys.from + 1;
	complain(t, "keys lost after it was opened", lost, life);
	t->lost += lost;
	blm_close(f);
	if (blm_verify(NULL, path, 0, tell, t) < 0)
		t->refused++;
}

static void cut_again(const char *path, const char *second, const struct cut *cut, struct tally *t,
		      const struct life *life, size_t unit, uint64_t *random)
{
	static struct history h;
	struct life quiet = *life;

	watch(&h, path,
	      (struct keys){ .from = cut->promised.from, .to = cut->promised.to + 1000000 },
	      next_random(random));
	memcpy(h.file[0].claims, cut->claims, sizeof(h.file[0].claims));
	/* keys that were there in part are no promise; those of before still are */
	h.keys.from = h.keys.to;
	h.before = cut->added;
	h.base = h.keys.to;
	all_flushed(&h, 0);
	begin(&h, cut->promised);
	quiet.clear = false;
	quiet.remove = false;
	live(&h, &quiet, 2);
	end(&h);
	for (int i = 0; i < 2; i++) {
		struct cut again = cut_at_random(&h, second, unit, random);

		check(second, &again, t, life);
		again.promised = cut->promised;
		check(second, &again, t, life);
		t->states--;
		t->twice++;
	}
	forget(&h);
}

static void run(const struct life *life, const char *folder, unsigned long states, uint64_t seed,
		struct tally *t)
{
	static const size_t units[] = { 4096, 512, 64 };
	static struct history h;
	char path[300], crashed[300], second[300];
	uint64_t random = seed;

	living = life;
	snprintf(path, sizeof(path), "%s/live.blm", folder);
	snprintf(crashed, sizeof(crashed), "%s/crashed.blm", folder);
	snprintf(second, sizeof(second), "%s/second.blm", folder);
	while (t->states < states) {
		struct blm_filter *f;

		unlink(path);
		must(blm_create(&f, NULL, path, &life->params) == 0, "creating");
		blm_close(f);
		watch(&h, path, (struct keys){ 0 }, next_random(&random));
		all_flushed(&h, 0);
		begin(&h, h.keys);
		live(&h, life, life->rounds);
		end(&h);
		for (unsigned i = 0; i < 24 && t->states < states; i++) {
			size_t unit = units[i % 3];
			struct cut cut = cut_at_random(&h, crashed, unit, &random);

			check(crashed, &cut, t, life);
			if (life->announces)
				check_last(crashed, &cut, t, life);
			if (i % 6 == 5 && !flushes_are_ignored)
				cut_again(crashed, second, &cut, t, life, unit, &random);
			else
				check_after(crashed, &cut, t, life);
		}
		forget(&h);
	}
	unlink(path);
	unlink(crashed);
	unlink(second);
}

static unsigned long states_of(unsigned i, unsigned long states)
{
	unsigned long each = states / lives_named + (i < states % lives_named);

	if (states >= STATES && each < STATES_EACH)
		each = STATES_EACH;
	return each * (lives[i].announces ? 12 : lives[i].remove ? 4 : 1);
}

int main(int argc, char **argv)
{
	unsigned long states = number_of(argc, argv, "--states", 218),
		      seed = number_of(argc, argv, "--seed", (unsigned long)getpid());
	const char *where = getenv("TMPDIR")		  ? getenv("TMPDIR")
			  : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							  : "/tmp";
	struct tally all = { 0 }, lying = { 0 };
	char folder[256];

	snprintf(folder, sizeof(folder), "%.200s/bloomery-fault-XXXXXX", where);
	must(mkdtemp(folder) != NULL, folder);
	printf("# seed %lu\n", seed);
	take_kinds_of_registry();
	for (unsigned i = 0; i < life_count; i++) {
		struct tally t = { 0 };

		run(&lives[i], folder, states_of(i, states), mixed(seed + i), &t);
		if (lives[i].announces)
			tap(!t.torn && t.clean,
			    "%s: of %llu files that look clean, %llu are not as they were synced",
			    lives[i].name, (unsigned long long)t.clean, (unsigned long long)t.torn);
		tap(!t.lost && !t.denied && !t.false_damage && !t.refused,
		    "%s: no subset of pages loses a synced key: %llu states (%llu of them cut "
		    "twice), %llu of %llu synced keys lost, "
		    "%llu that a sync record claimed, %llu false reports of damage, %llu not "
		    "opened",
		    lives[i].name, (unsigned long long)t.states, (unsigned long long)t.twice,
		    (unsigned long long)t.lost, (unsigned long long)t.keys,
		    (unsigned long long)t.denied, (unsigned long long)t.false_damage,
		    (unsigned long long)t.refused);
		all.states += t.states;
		all.keys += t.keys;
		all.lost += t.lost;
	}
	flushes_are_ignored = true;
	run(&lives[0], folder, 30, mixed(seed + lives_named), &lying);
	run(&lives[3], folder, 60, mixed(seed + lives_named + 1), &lying);
	tap(lying.lost && lying.denied && lying.false_damage,
	    "a disk that ignores flushes is caught: %llu of %llu synced keys lost, "
	    "%llu that a sync record claimed, %llu blocks that their record rightly calls damaged",
	    (unsigned long long)lying.lost, (unsigned long long)lying.keys,
	    (unsigned long long)lying.denied, (unsigned long long)lying.false_damage);
	rmdir(folder);
	printf("# %llu states, %llu of %llu synced keys lost\n", (unsigned long long)all.states,
	       (unsigned long long)all.lost, (unsigned long long)all.keys);
	return tap_end();
}
