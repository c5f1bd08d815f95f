/*
 * locks.c - holders of locks that stop, die or fork; containers; users and mounts that only read;
 * copies made at any moment
 *
 * lib/file/ofd_lock.h and lib/catalog/flock.h promise which calls wait: a question never waits;
 * adding and claiming wait only for a replacement (a claim without a slot, lib/file/presence.h, for
 * the gate, too); only changes wait for the catalog's lock, while it moves. A dead holder holds
 * nothing.
 */
#include "processes.h"
#include "../info.h"
#include "../kinds.h"
#include "../powers.h"

#include "catalog/flock.h"
#include "file/ofd_lock.h"
#include "handle/handle.h"

#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>

enum { SKIPPED = 77 };	/* this needs rights that are not to be had here */

static int told[2], asked[2];

static void say(int to)
{
	MUST(write(to, "x", 1) == 1);
}

static void hear(int from)
{
	char c;

	MUST(read(from, &c, 1) == 1);
}

static void make_pipes(void)
{
	ck_assert(pipe(told) == 0 && pipe(asked) == 0);
}

/* Does a process still run after this many milliseconds? Any exit status but 0 is an error. */
static bool runs_after(pid_t pid, unsigned milliseconds)
{
	double end = seconds() + milliseconds / 1e3;
	int status;

	do {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid) {
			ck_assert_msg(status == 0, "ended with %x", (unsigned)status);
			return false;
		}
		usleep(500);
	} while (seconds() < end);
	return true;
}

/* ---- Holders of a filter's locks ---- */

enum what { ASK, OPEN_TO_READ, ADD, CLAIM, SYNC, CLEAR, WHATS };
static const char *const whats[] = { "asking",	 "opening", "adding",
				     "claiming", "syncing", "clearing" };

static const struct {
	const char *name;
	enum blm_lock_of lock;
	bool exclusive;
	unsigned state;
	unsigned waits;		/* a bit for each what that waits for the holder */
	const char *kind;	/* NULL: the usual one */
	bool present;		/* in a slot, instead of holding the lock */
} holders[] = {
	{ "a replacer", BLM_LOCK_REPLACE, true, BLM_REPLACING, 1 << ADD | 1 << CLAIM | 1 << CLEAR },
	{ "a replacer at its last step", BLM_LOCK_REPLACE, true, BLM_YIELDING,
	  1 << ADD | 1 << CLAIM | 1 << CLEAR },
	{ "a dropper", BLM_LOCK_REPLACE, true, BLM_DROPPED, 1 << ADD | 1 << CLAIM | 1 << CLEAR },
	{ "a claimer", BLM_LOCK_REPLACE, false, BLM_LIVE, 1 << CLEAR },
	{ "a claimer that is present", BLM_LOCK_REPLACE, false, BLM_LIVE, 1 << CLEAR,
	  .present = true },
	{ "a holder of the gate", BLM_LOCK_GATE, true, BLM_LIVE, 1 << CLEAR },
	{ "a holder of the gate, of a kind whose claims take the lock", BLM_LOCK_GATE, true,
	  BLM_LIVE, 1 << ADD | 1 << CLAIM | 1 << CLEAR, "counting" },
	{ "a syncer", BLM_LOCK_SYNC, true, BLM_LIVE, 1 << SYNC },
	{ "a writer where there are many", BLM_LOCK_WRITE, true, BLM_LIVE, 0 },
	{ "the one writer", BLM_LOCK_WRITE, true, BLM_LIVE,
	  1 << ADD | 1 << CLAIM | 1 << SYNC | 1 << CLEAR, "cuckoo" },
	{ "one who makes room", BLM_LOCK_GROW, true, BLM_LIVE, 0, "scalable" },
};

static struct blm_store *the_store;	/* NULL: filters at a path */
static struct blm_filter *the_filter;

static int hold_and_stop(int which)
{
	struct blm_filter *f;
	struct blm_view *view;

	MUST(blm_open(&f, the_store, "a", BLM_OPEN_WRITE) == 0);
	view = current_view(f);
	if (holders[which].present)
		MUST(blm_claim(f, "key", 3) >= 0 && blm_change_begin_held(f, &view) == 0
		     && !blm_ofd_busy(view->image.fd, BLM_LOCK_REPLACE));
	else
		MUST(blm_ofd_lock(view->image.fd, holders[which].lock, holders[which].exclusive)
		     == 0);
	if (holders[which].state != BLM_LIVE)
		set_state(view, holders[which].state);
	raise(SIGSTOP);
	return 0;
}

/* A call that only answers waits for no other process. */
static bool answers(const struct blm_filter *f)
{
	const struct blm_key keys[] = { { "key", 3 }, { "no key", 6 } };
	struct blm_info info = BLM_INFO;
	uint64_t bits = 0;

	return has(f, "key") && !has(f, "no key") && blm_contains_many(f, keys, 2, &bits) == 1
	    && bits == 1 && blm_info(f, &info) == 0 && blm_status(f) == 0;
}

/* In a child, through the handle that its parent had open before. */
static int do_it(int what)
{
	struct blm_filter *f;

	switch ((enum what)what) {
	case ASK: MUST(answers(the_filter)); break;
	case OPEN_TO_READ:
		MUST(blm_open(&f, the_store, "a", 0) == 0);
		MUST(answers(f));
		break;
	case ADD: MUST(blm_add(the_filter, "added", 5) >= 0); break;
	case CLAIM: MUST(blm_claim(the_filter, "claimed", 7) >= 0); break;
	case SYNC: MUST(blm_sync(the_filter) == 0); break;
	case CLEAR: MUST(blm_clear(the_filter) == 0); break;
	case WHATS: break;
	}
	return 0;
}

static void make_a_of(const char *kind, bool in_store)
{
	struct blm_filter *f;

	the_store = in_store ? open_store(BLM_STORE_CREATE) : NULL;
	OK(blm_create(&f, the_store, "a",
		      &BLM_PARAMS(.kind = kind, .capacity = 1000, .rate = 1e-6)));
	OK(blm_add(f, "key", 3));
	OK(blm_sync(f));
	blm_close(f);
	make_with(the_store, "b", "key");
	OK(blm_open(&the_filter, the_store, "a", BLM_OPEN_WRITE));
}

static void make_a(bool in_store)
{
	make_a_of(NULL, in_store);
}

static void end_a(void)
{
	blm_close(the_filter);
	blm_store_close(the_store);
}

static pid_t stopped(int (*body)(int), int arg)
{
	pid_t pid = spawn(body, arg);
	int status;

	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert_msg(WIFSTOPPED(status), "status %x", (unsigned)status);
	return pid;
}

/* _i: the holder, and whether in a store */
START_TEST(a_stopped_holder_stops_only_processes_that_need_its_lock)
{
	int which = _i / 2;
	pid_t holder, waiting[WHATS] = { 0 };
	double killed;

	make_a_of(holders[which].kind, _i % 2);
	holder = stopped(hold_and_stop, which);
	/* here, where the handle has its descriptor, which a child opens anew */
	ck_assert(answers(the_filter));
	for (int what = 0; what < CLEAR; what++) {
		pid_t pid = spawn(do_it, what);
		bool waits = holders[which].waits >> what & 1;

		ck_assert_msg(runs_after(pid, waits ? 200 : 500 * TOO_LONG) == waits,
			      "%s is stopped: %s %s", holders[which].name, whats[what],
			      waits ? "does not wait" : "waits");
		waiting[what] = waits ? pid : 0;
	}
	/* the other filters are not concerned */
	ck_assert(holds(the_store, "b", "key"));
	/* last: claims without a slot wait for who waits to replace, and for who excludes */
	if (holders[which].waits >> CLEAR & 1) {
		waiting[CLEAR] = spawn(do_it, CLEAR);
		ck_assert_msg(runs_after(waiting[CLEAR], 200),
			      "%s is stopped: clearing does not wait", holders[which].name);
	}
	killed = seconds();
	kill_it(holder);
	for (int what = 0; what < WHATS; what++)
		if (waiting[what])
			ck_assert_msg(!runs_after(waiting[what], 1000 * TOO_LONG),
				      "%s was killed: %s still waits", holders[which].name,
				      whats[what]);
	ck_assert_double_lt(seconds() - killed, TOO_LONG);
	OK(blm_add(the_filter, "afterwards", 10));
	ck_assert(has(the_filter, "afterwards"));
	ck_assert_int_eq(blm_status(the_filter), 0);
	end_a();
}
END_TEST

/* ---- Holders of the catalog's lock ---- */

static int hold_catalog_and_stop(int exclusive)
{
	int fd = open("s/catalog/lock", O_RDONLY | O_CLOEXEC);

	MUST(fd >= 0 && flock(fd, exclusive ? LOCK_EX : LOCK_SH) == 0);
	raise(SIGSTOP);
	return 0;
}

/* Whatever lock the holder has: look-ups go on without it, a change waits and names it. */
START_TEST(a_stopped_holder_of_the_catalog_stops_changes_only)
{
	struct blm_info *info = info_buffer();
	struct blm_filter *other;
	char pid_text[16];
	pid_t holder;

	make_a(true);
	blm_catalog_lock_limit = 500000000;
	holder = stopped(hold_catalog_and_stop, _i);
	FAILS(blm_store_label(the_store, "a", "k", "v"), -EBUSY);
	snprintf(pid_text, sizeof(pid_text), " %d ", (int)holder);
	if (access("/proc/locks", R_OK) == 0)
		ck_assert_msg(strstr(blm_error_message(), pid_text), "%s", blm_error_message());
	blm_catalog_lock_limit = INT64_MAX / 2;		/* what waits now hangs */
	OK(blm_add(the_filter, "added", 5));
	OK(blm_claim(the_filter, "claimed", 7));
	ck_assert(has(the_filter, "added"));
	OK(blm_store_find(the_store, "a", info));
	OK(blm_open(&other, the_store, "a", BLM_OPEN_WRITE));
	ck_assert(has(other, "added"));
	blm_close(other);
	kill_it(holder);
	OK(blm_store_label(the_store, "a", "k", "v"));
	free(info);
	end_a();
}
END_TEST

static int drop_a(int unused)
{
	MUST(blm_store_drop(the_store, "a") == 0);
	return 0;
}

START_TEST(a_slow_drop_is_noticed_by_handles_that_looked_meanwhile)
{
	int catalog;
	struct blm_filter *reader, *late;
	pid_t dropper;

	make_a(true);
	OK(blm_open(&reader, the_store, "a", 0));
	catalog = open("s/catalog/lock", O_RDONLY | O_CLOEXEC);
	/* look-ups go on, the commit waits */
	ck_assert(catalog >= 0 && flock(catalog, LOCK_SH) == 0);
	dropper = spawn(drop_a, 0);
	while (state_of(load_acquire(&live_of(reader->view)->state.word)) != BLM_DROPPED)
		usleep(100);
	/* both look the name up, and it is there */
	ck_assert(has(reader, "key") && has(the_filter, "key"));
	OK(blm_open(&late, the_store, "a", 0));
	ck_assert_int_eq(blm_status(reader), 0);
	/* the dropper has a copy of the descriptor */
	ck_assert_int_eq(flock(catalog, LOCK_UN), 0);
	ck_assert_int_eq(join(dropper), 0);
	close(catalog);
	alarm(TOO_LONG);
	FAILS(blm_add(the_filter, "added", 5), -ESTALE);
	ck_assert_int_eq(blm_status(reader), -ESTALE);
	ck_assert_int_eq(blm_status(late), -ESTALE);
	alarm(0);
	ck_assert(has(reader, "key"));
	blm_close(reader);
	blm_close(late);
	end_a();
}
END_TEST

/* ---- Forks ---- */

static int use_and_end(int unused)
{
	MUST(blm_add(the_filter, "the child's", 11) == 1);
	MUST(has(the_filter, "the child's"));
	blm_close(the_filter);
	blm_store_close(the_store);
	return 0;
}

static int is_it_held(int unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, the_store, "a", 0) == 0);
	return blm_ofd_busy(current_view(f)->image.fd, BLM_LOCK_REPLACE);
}

START_TEST(a_child_that_ends_leaves_its_parents_locks)
{
	struct blm_view *view;

	make_a(_i);
	view = current_view(the_filter);
	OK(blm_lock_shared(&view->lock, view->image.fd));
	ck_assert_int_eq(run_apart(use_and_end, 0), 0);
	ck_assert_int_eq(run_apart(is_it_held, 0), 1);
	blm_unlock_shared(&view->lock, view->image.fd);
	ck_assert_int_eq(run_apart(is_it_held, 0), 0);
	ck_assert(has(the_filter, "the child's"));
	end_a();
}
END_TEST

/* A byte in the pipe tells its idle child to end. */
static int lock_with_a_child(int unused)
{
	struct blm_view *view = current_view(the_filter);
	pid_t child = fork();
	char c;

	if (child == 0) {
		close(asked[1]);
		while (read(asked[0], &c, 1) < 0)
			;
		_exit(0);
	}
	MUST(child > 0 && blm_view_fd(the_filter, view) >= 0
	     && blm_lock_exclusive(&view->lock, view->image.fd) == 0);
	say(told[1]);
	pause();
	return 0;
}

START_TEST(an_idle_child_keeps_no_lock_of_its_killed_parent)
{
	pid_t holder;

	make_a(_i);
	make_pipes();
	holder = spawn(lock_with_a_child, 0);
	hear(told[0]);
	kill(holder, SIGKILL);
	ck_assert_int_eq(join(holder), SIGNALLED + SIGKILL);
	ck_assert_int_eq(run_apart(is_it_held, 0), 0);
	OK(blm_claim(the_filter, "x", 1));
	OK(blm_clear(the_filter));
	close(asked[1]);
	end_a();
}
END_TEST

/*
 * Opened anew each time, since a handle keeps every file that it ever had; the others' handles need
 * descriptors enough.
 */
static int replace_for_ever(int unused)
{
	struct blm_filter *f;

	for (;;) {
		MUST(blm_open(&f, the_store, "a", BLM_OPEN_WRITE) == 0);
		MUST(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ f }, 1,
				      0, NULL)
		     == 0);
		blm_close(f);
	}
}

static void take_all_descriptors(void)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int add_and_claim(int i)
{
	MUST((i % 2 ? blm_add(the_filter, &i, sizeof(i)) : blm_claim(the_filter, &i, sizeof(i)))
	     >= 0);
	MUST(blm_contains(the_filter, &i, sizeof(i)));
	return 0;
}

enum { AT_ONCE = 300000 };

static int add_at_once(int unused)
{
	struct blm_key *keys = calloc(AT_ONCE, sizeof(*keys));
	uint64_t *buffer = calloc(AT_ONCE, sizeof(*buffer));

	number_keys(buffer, keys, 0, AT_ONCE);
	MUST(blm_add_many(the_filter, keys, AT_ONCE, NULL) >= 0);
	free(keys);
	free(buffer);
	return 0;
}

START_TEST(a_child_with_an_inherited_handle_adds_to_the_replacement)
{
	pid_t replacer;

	the_store = NULL;
	OK(blm_create(&the_filter, NULL, "a", &BLM_PARAMS(.capacity = AT_ONCE, .rate = 0.001)));
	replacer = spawn(replace_for_ever, 0);
	for (int i = 0; i < 10; i++) {
		/* so the child begins with the file that is current */
		ck_assert(!has(the_filter, "no key"));
		ck_assert_int_eq(run_apart(add_at_once, 0), 0);
	}
	kill_it(replacer);
	ck_assert_uint_eq(denied(the_filter, 0, AT_ONCE), 0);
	blm_close(the_filter);
}
END_TEST

START_TEST(children_with_an_inherited_handle_survive_a_replacement)
{
	const int children = is_share() ? 100 : 400;
	pid_t replacer;

	take_all_descriptors();
	make_a(_i);
	replacer = spawn(replace_for_ever, 0);
	for (int i = 0; i < children; i++)
		ck_assert_int_eq(run_apart(add_and_claim, i), 0);
	kill_it(replacer);
	for (int i = 0; i < children; i++)
		ck_assert(blm_contains(the_filter, &i, sizeof(i)));
	end_a();
}
END_TEST

/* ---- Containers ---- */

static int work_in_container(int which)
{
	struct blm_store *store;
	struct blm_filter *f;
	char name[32];

	MUST(getpid() == 1);		/* as in the other one */
	MUST(blm_store_open(&store, "s", 0) == 0);
	MUST(blm_open(&f, store, "a", BLM_OPEN_WRITE) == 0);
	for (int i = 0; i < 50; i++) {
		int key = which * 1000 + i;

		MUST(blm_claim(f, &key, sizeof(key)) >= 0);
		MUST(blm_add(f, &i, sizeof(i)) >= 0);
		MUST(blm_sync(f) == 0);
		snprintf(name, sizeof(name), "of %d: %d", which, i);
		make_with(store, name, "key");
		MUST(holds(store, name, "key"));
		MUST(blm_store_label(store, "b", name, "here") == 0);
		MUST(blm_store_label(store, "b", name, NULL) == 0);
		if (i % 2)
			MUST(blm_store_drop(store, name) == 0);
	}
	blm_close(f);
	blm_store_close(store);
	return 0;
}

static int container(int which)
{
	if (unshare(CLONE_NEWPID) < 0)
		return SKIPPED;
	return run_apart(work_in_container, which);
}

START_TEST(two_containers_whose_processes_have_equal_numbers_share_a_store)
{
	pid_t pid[2];
	int r[2];

	make_a(true);
	blm_store_close(the_store);
	pid[0] = spawn(container, 0);
	pid[1] = spawn(container, 1);
	r[0] = join(pid[0]);
	r[1] = join(pid[1]);
	if (r[0] == SKIPPED)
		SKIP("no namespace of processes can be made here");
	ck_assert_int_eq(r[0], 0);
	ck_assert_int_eq(r[1], 0);
	for (int i = 0; i < 50; i++)
		for (int which = 0; which < 2; which++) {
			int key = which * 1000 + i;

			ck_assert(blm_contains(the_filter, &key, sizeof(key)));
		}
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	ck_assert_int_eq(files_in("s/filters", NULL), 2 + 2 * 25);
	blm_close(the_filter);
}
END_TEST

/* ---- Who may only read, while others write ---- */

static int read_along(int as)
{
	struct blm_store *store;
	struct blm_filter *f;

	if (as == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return SKIPPED;
	if (as == 1
	    && (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
		|| mount("s", "s", NULL, MS_BIND, NULL) < 0
		|| mount(NULL, "s", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0))
		return SKIPPED;
	MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0);
	MUST(blm_open(&f, store, "a", 0) == 0);
	say(told[1]);
	hear(asked[0]);
	MUST(has(f, "added"));
	say(told[1]);
	hear(asked[0]);
	MUST(has(f, "published") && !has(f, "added"));
	say(told[1]);
	hear(asked[0]);
	MUST(blm_status(f) == -ESTALE && has(f, "published"));
	MUST(blm_open(&f, store, "a", 0) == -ENOENT);
	return 0;
}

/* Now the reader goes on to its next step; false: it cannot be run here. */
static bool reader_is_ready(pid_t pid)
{
	char c;

	if (read(told[0], &c, 1) == 1)
		return true;
	ck_assert_int_eq(join(pid), SKIPPED);
	return false;
}

START_TEST(a_read_only_process_sees_all_changes_at_once)
{
	struct blm_filter *new;
	pid_t pid;

	make_a(true);
	make(&new, NULL, NULL);
	OK(blm_add(new, "published", 9));
	make_pipes();
	pid = spawn(read_along, _i);
	close(told[1]);
	if (!reader_is_ready(pid))
		SKIP(_i ? "nothing can be mounted here" : "nobody can be somebody else here");
	OK(blm_add(the_filter, "added", 5));
	say(asked[1]);
	ck_assert(reader_is_ready(pid));
	OK(blm_store_publish(the_store, "a", new, 0, BLM_PUBLISH_WRITABLE));
	say(asked[1]);
	ck_assert(reader_is_ready(pid));
	OK(blm_store_drop(the_store, "a"));
	say(asked[1]);
	ck_assert_int_eq(join(pid), 0);
	blm_close(new);
	end_a();
}
END_TEST

/* ---- Overlays ---- */

static int write_in_overlay(int unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "merged/a.blm", BLM_OPEN_WRITE) == 0);
	MUST(blm_add(f, "added", 5) == 1);
	return 0;
}

static int in_overlay(int unused)
{
	struct blm_filter *reader;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
	    || mount("tmpfs", "layers", "tmpfs", 0, NULL) < 0)
		return SKIPPED;
	MUST(mkdir("layers/lower", 0755) == 0 && mkdir("layers/upper", 0755) == 0
	     && mkdir("layers/work", 0755) == 0);
	make_with(NULL, "layers/lower/a.blm", "key");
	if (mount("overlay", "merged", "overlay", 0,
		  "lowerdir=layers/lower,upperdir=layers/upper,workdir=layers/work")
	    < 0)
		return SKIPPED;
	MUST(blm_open(&reader, NULL, "merged/a.blm", 0) == 0);
	MUST(has(reader, "key") && !has(reader, "added"));
	MUST(run_apart(write_in_overlay, 0) == 0);
	MUST(has(reader, "added"));
	return 0;
}

static int replace_in_overlay(int unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "merged/a.blm", BLM_OPEN_WRITE) == 0);
	MUST(blm_clear(f) == 0 && blm_add(f, "afterwards", 10) == 1);
	return 0;
}

/*
 * As a user who may not write, so that no opening makes the copy. dirty: nothing of the first page
 * of words changes.
 */
static int in_overlay_as_nobody(int dirty)
{
	struct blm_filter *reader, *f;
	int to_writer[2], to_reader[2];
	pid_t writer;
	char c;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0
	    || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
	    || mount("tmpfs", "layers", "tmpfs", 0, NULL) < 0)
		return SKIPPED;
	MUST(mkdir("layers/lower", 0755) == 0 && mkdir("layers/upper", 0755) == 0
	     && mkdir("layers/work", 0755) == 0);
	MUST(blm_create(&f, NULL, "layers/lower/a.blm", &BLM_PARAMS(.capacity = 100, .rate = 0.001))
		     == 0
	     && blm_add(f, "key", 3) == 1);
	MUST(dirty || blm_sync(f) == 0);
	blm_close(f);
	if (mount("overlay", "merged", "overlay", 0,
		  "lowerdir=layers/lower,upperdir=layers/upper,workdir=layers/work")
	    < 0)
		return SKIPPED;
	MUST(pipe(to_writer) == 0 && pipe(to_reader) == 0);
	writer = fork();
	if (writer == 0) {
		MUST(read(to_writer[0], &c, 1) == 1);
		write_in_overlay(0);
		MUST(write(to_reader[1], "x", 1) == 1 && read(to_writer[0], &c, 1) == 1);
		replace_in_overlay(0);
		MUST(write(to_reader[1], "x", 1) == 1);
		_exit(0);
	}
	MUST(setgid(65534) == 0 && setuid(65534) == 0);
	MUST(blm_open(&reader, NULL, "merged/a.blm", 0) == 0);
	for (int i = 0; i < 100; i++)
		MUST(has(reader, "key") && !has(reader, "added"));
	MUST(!atomic_load(&reader->view)->older);	/* asking alone makes no view anew */
	MUST(write(to_writer[1], "x", 1) == 1 && read(to_reader[0], &c, 1) == 1);
	MUST(has(reader, "added") && has(reader, "key") && blm_status(reader) == 0);
	MUST(write(to_writer[1], "x", 1) == 1 && read(to_reader[0], &c, 1) == 1);
	MUST(has(reader, "afterwards") && !has(reader, "key") && blm_status(reader) == 0);
	return join(writer);
}

START_TEST(a_read_only_reader_in_an_overlay_sees_all_changes)
{
	int r;

	if (cannot_become(65534, 65534))
		SKIP(cannot_become(65534, 65534));
	ck_assert(mkdir("layers", 0755) == 0 && mkdir("merged", 0755) == 0);
	r = run_apart(in_overlay_as_nobody, _i);
	if (r == SKIPPED)
		SKIP("no overlay can be mounted here");
	ck_assert_int_eq(r, 0);
}
END_TEST

START_TEST(a_reader_in_an_overlay_sees_the_first_writers_keys)
{
	int r;

	ck_assert(mkdir("layers", 0755) == 0 && mkdir("merged", 0755) == 0);
	r = run_apart(in_overlay, 0);
	if (r == SKIPPED)
		SKIP("no overlay can be mounted here");
	ck_assert_int_eq(r, 0);
}
END_TEST

/* ---- Copies ---- */

static uint64_t *acknowledged;

static int add_for_ever(int unused)
{
	for (uint64_t i = 0;; i++) {
		MUST((i % 2 ? blm_add(the_filter, &i, sizeof(i))
			    : blm_claim(the_filter, &i, sizeof(i)))
		     >= 0);
		__atomic_store_n(acknowledged, i + 1, __ATOMIC_SEQ_CST);
		if (i % 64 == 0)
			MUST(blm_sync(the_filter) == 0);
		if (i > 100000)
			pause();
	}
}

START_TEST(a_copy_at_any_moment_has_every_acknowledged_key)
{
	struct blm_filter *copy;
	pid_t pid[3];

	take_all_descriptors();
	acknowledged = shared_memory(sizeof(*acknowledged));
	OK(blm_create(&the_filter, NULL, "a",
		      &BLM_PARAMS(.kind = "classic", .cells = 1 << 21, .probes = 7)));
	pid[0] = spawn(add_for_ever, 0);
	pid[1] = spawn(replace_for_ever, 0);
	/* on a busy machine the replacer may have all of its time for a while */
	for (int i = 0; i < 200 || __atomic_load_n(acknowledged, __ATOMIC_SEQ_CST) <= 100; i++) {
		uint64_t keys = __atomic_load_n(acknowledged, __ATOMIC_SEQ_CST);
		double begun;

		copy_file("a", "copy");
		begun = seconds();
		OK(blm_open(&copy, NULL, "copy", i % 2 ? BLM_OPEN_WRITE : 0));
		ck_assert_double_lt(seconds() - begun, TOO_LONG);
		ck_assert_uint_eq(denied(copy, 0, keys), 0);
		if (i % 2) {
			OK(blm_add(copy, "x", 1));
			OK(blm_sync(copy));
			ck_assert(has(copy, "x"));
		}
		blm_close(copy);
		ck_assert_int_eq(blm_verify(NULL, "copy", 0, NULL, NULL), 0);
	}
	kill_it(pid[0]);
	kill_it(pid[1]);
	blm_close(the_filter);
}
END_TEST

static uint64_t boots;		/* how often the machine started again */

uint64_t __real_blm_boot_number(void);
uint64_t __wrap_blm_boot_number(void);

uint64_t __wrap_blm_boot_number(void)
{
	return __real_blm_boot_number() + 2 * boots;	/* odd as it is: not 0 */
}

/*
 * All that keys come to one by one, but for bitmap, which wants numbers, and is bits that are set
 * as those of classic are.
 */
static struct {
	struct blm_params params;
	/*
	 * a copy by bytes may lack what was moved meanwhile: its caveat says so; stable forgets
	 * that share of the oldest
	 */
	double may_lack;
} copied[32] = {
	{ BLM_PARAMS(.kind = "blocked", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "split-block", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "hash-compact", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "counting", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "removable", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "attenuated", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "scalable", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "window", .capacity = 40000, .rate = 0.001, .options = "slots=3"), 0 },
	{ BLM_PARAMS(.kind = "stable", .capacity = 40000, .rate = 0.001), 0.01 },
	{ BLM_PARAMS(.kind = "approximator", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "d-left", .capacity = 40000, .rate = 0.001), 0 },
	{ BLM_PARAMS(.kind = "iblt", .capacity = 4000, .options = "key-bytes=8"), 0 },
	{ BLM_PARAMS(.kind = "cuckoo", .capacity = 40000, .rate = 1e-6), 0.001 },
	{ BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 40000, .rate = 0.02), 0.001 },
	{ BLM_PARAMS(.kind = "recent", .capacity = 40000, .rate = 1e-6), 0.001 },
};

static bool is_in_list(const char *name)
{
	for (unsigned i = 0; copied[i].params.kind; i++)
		if (!strcmp(name, copied[i].params.kind))
			return true;
	return !strcmp(name, "classic");	/* as blocked */
}

/* Return: how many kinds there are. */
static int take_kinds_of_registry(void)
{
	struct blm_kind_info others[8];
	unsigned more = other_kinds(BLM_CAN_ADD | BLM_CAN_PUT, BLM_EXACT, is_in_list, others, 8);
	int count = 0;

	while (copied[count].params.kind)
		count++;
	for (unsigned i = 0; i < more; i++, count++) {
		const struct blm_kind *kind = blm_kind_by_name(others[i].name);

		copied[count].params = usual_params(&others[i], 40000, 0.001);
		copied[count].may_lack = kind->forgets ? 0.01
			: kind_has_checkpoint(kind) ? 0.001 : 0;
	}
	return count;
}

static int add_or_put(struct blm_filter *f, uint64_t key)
{
	bool values = current_view(f)->root.kind->put && !current_view(f)->root.kind->add;

	return values ? blm_put(f, &key, sizeof(key), 1) : blm_add(f, &key, sizeof(key));
}

static int add_and_sync_for_ever(int most)
{
	for (uint64_t i = 0; i < (uint64_t)most; i++) {
		MUST(add_or_put(the_filter, i) >= 0);
		if (i % 16 == 15) {
			MUST(blm_sync(the_filter) == 0);
			__atomic_store_n(acknowledged, i + 1, __ATOMIC_SEQ_CST);
		}
	}
	pause();
	return 0;
}

static void count_found(void *context, const struct blm_finding *found)
{
	++*(unsigned *)context;
}

/*
 * A copy that has its data from the moment of copying says so, both when it is verified and when a
 * key is to be taken out.
 */
static void check_what_is_said(struct blm_filter *copy, const char *kind)
{
	unsigned found = 0;

	if (strcmp(kind, "cuckoo") && strcmp(kind, "redis-cuckoo"))
		return;
	ck_assert_int_ge(blm_verify(NULL, "copy", 0, count_found, &found), 0);
	ck_assert_int_eq(blm_remove(copy, "nobody's", 8) == -EUCLEAN, found > 0);
}

/*
 * _i: the kind. Every other copy is opened after a start of the machine. The last ones are of a
 * file that has keys.
 */
START_TEST(a_copy_of_any_kind_has_every_synced_key)
{
	struct blm_params params = copied[_i].params;
	uint64_t lacking = 0, asked_for = 0;
	pid_t pid;

	acknowledged = shared_memory(sizeof(*acknowledged));
	OK(blm_create(&the_filter, NULL, "a", &params));
	pid = spawn(add_and_sync_for_ever, (int)params.capacity);
	for (int i = 0; i < (is_share() ? 20 : 60) || !asked_for; i++) {
		uint64_t keys = __atomic_load_n(acknowledged, __ATOMIC_SEQ_CST),
			 after = 2 * params.capacity + (uint64_t)i;
		struct blm_filter *copy;

		copy_file("a", "copy");
		boots = i % 2;
		for (int write = 0; write < 2; write++) {
			OK(blm_open(&copy, NULL, "copy", write ? BLM_OPEN_WRITE : 0));
			lacking += denied(copy, 0, keys);
			asked_for += keys;
			if (write) {
				int r = add_or_put(copy, after);

				ck_assert_msg(r >= 0 || r == -EXFULL, "%s", blm_error_message());
				OK(blm_sync(copy));
				ck_assert(r < 0 || blm_contains(copy, &after, sizeof(after)));
				check_what_is_said(copy, params.kind);
			}
			blm_close(copy);
		}
		boots += 2;		/* and its image is good now */
		OK(blm_open(&copy, NULL, "copy", BLM_OPEN_WRITE));
		lacking += denied(copy, 0, keys);
		asked_for += keys;
		blm_close(copy);
		boots = 0;
	}
	kill_it(pid);
	ck_assert_msg((double)lacking <= (double)asked_for * copied[_i].may_lack,
		      "%s: %llu of %llu keys are lacking", params.kind, (unsigned long long)lacking,
		      (unsigned long long)asked_for);
	blm_close(the_filter);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("locks");
	TCase *tc = tcase_create("locks");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(
		tc, a_stopped_holder_stops_only_processes_that_need_its_lock, 0,
		2 * (int)ARRAY_LEN(holders));
	tcase_add_loop_test(tc, a_stopped_holder_of_the_catalog_stops_changes_only, 0, 2);
	tcase_add_test(tc, a_slow_drop_is_noticed_by_handles_that_looked_meanwhile);
	tcase_add_loop_test(
		tc, a_child_that_ends_leaves_its_parents_locks, 0,
		2);
	tcase_add_loop_test(tc, an_idle_child_keeps_no_lock_of_its_killed_parent,
			    0, 2);
	tcase_add_loop_test(tc, children_with_an_inherited_handle_survive_a_replacement, 0,
			    2);
	tcase_add_test(tc, a_child_with_an_inherited_handle_adds_to_the_replacement);
	tcase_add_test(tc, two_containers_whose_processes_have_equal_numbers_share_a_store);
	tcase_add_loop_test(tc, a_read_only_process_sees_all_changes_at_once, 0, 2);
	tcase_add_test(tc, a_reader_in_an_overlay_sees_the_first_writers_keys);
	tcase_add_loop_test(
		tc, a_read_only_reader_in_an_overlay_sees_all_changes, 0,
		2);
	tcase_add_test(
		tc, a_copy_at_any_moment_has_every_acknowledged_key);
	tcase_add_loop_test(tc, a_copy_of_any_kind_has_every_synced_key,
			    0, take_kinds_of_registry());
	suite_add_tcase(s, tc);
	return run_suite(s);
}
