/*
 * inject.c - whatever fails under a call of the library: it says so, and all that was there stays
 *
 * Each call of the API is made again and again, in a process of its own, and each time another of
 * the allocations and system calls that it makes fails: once, or that one and all of its kind after
 * it. What must hold then is in check() below.
 *
 * $BLOOMERY_TEST_SCALE: a share of the runs, or "full" for all of them.
 *
 * usage: test-inject [-e] [-j N] [-v] [CASE...]
 *   -e   each place in the program fails, whatever the share: the first and the last time that the
 *        program gets there, with the first errno of its kind, once and from then on
 *   -j   run N cases at the same time
 *   -v   print each run
 */
#include "inject.h"
#include "interpose.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TOLD_MOST = 12 };

/* ---- One run ---- */

/* What a run's process leaves to the one that started it. */
static struct shared {
	long calls[FAULT_CALLS], failed;
	int result;
	unsigned findings;
	unsigned long runs;
} *shared;

static uint32_t (*sites)[FAULT_SITES];	/* of the case's run in which nothing fails */

static char run_name[200];
static unsigned told;

static void __attribute__((format(printf, 1, 2))) finding(const char *format, ...)
{
	char words[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	shared->findings++;
	if (told++ < TOLD_MOST)
		printf("# %s: %s\n", run_name, words);
}

static int entries_of(const char *folder, bool (*counts)(const char *name))
{
	DIR *entries = opendir(folder);
	int n = 0;

	for (struct dirent *e; entries && (e = readdir(entries)); )
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..")
		  && (!counts || counts(e->d_name));
	if (entries)
		closedir(entries);
	return n;
}

static bool is_temporary(const char *name)
{
	return !strncmp(name, ".bloomery-", 10) || strstr(name, ".mdb.new");
}

static int maps_of_filters(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[600];
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "bloomery-fault-") || strstr(line, "memfd:bloomery");
	if (maps)
		fclose(maps);
	return n;
}

struct owned {
	int descriptors, maps;
	long allocated, mapped;
};

static struct owned owned(void)
{
	return (struct owned){
		.descriptors = entries_of("/proc/self/fd", NULL),
		.maps = maps_of_filters(),
		.allocated = fault.allocated,
		.mapped = fault.mapped,
	};
}

static void check_owned(const struct owned *before)
{
	struct owned now = owned();

	if (now.descriptors != before->descriptors)
		finding("%d descriptors are open, %d before", now.descriptors, before->descriptors);
	if (now.allocated != before->allocated)
		finding("%+ld allocations are left", now.allocated - before->allocated);
	if ((now.mapped != before->mapped || now.maps != before->maps)
	    && !fault.failed[FAULT_UNMAP])
		finding("%+ld maps are left, %+d of filters", now.mapped - before->mapped,
			now.maps - before->maps);
}

static bool failed_at(enum fault_call call)
{
	return fault.failed[call] > 0;
}

static void tell(void *context, const struct blm_finding *found)
{
	if (!found->repaired)
		finding("verify: %s: %s", found->file, found->what);
}

/* For a filter that is sealed, or was built. */
static bool never_takes_keys(int r)
{
	return r == -EROFS || r == -EOPNOTSUPP;
}

/* What a name holds, asked in a handle of its own, which also takes a key. */
static int state_of(struct blm_store *store, const char *name, bool may_add)
{
	struct blm_filter *f;
	int r = blm_open(&f, store, name, may_add ? BLM_OPEN_WRITE : 0), what;

	if (r == -ENOENT)
		return GONE;
	if (r < 0) {
		finding("%s does not open: %s", name, blm_error_message());
		return OTHER;
	}
	what = what_it_holds(f);
	if (may_add && (r = blm_add(f, "after", 5)) < 0 && !never_takes_keys(r))
		finding("%s takes no key: %s", name, blm_error_message());
	if (may_add && r >= 0 && !blm_contains(f, "after", 5))
		finding("%s denies a key that it took", name);
	blm_close(f);
	return what;
}

static void expect(struct blm_store *store, const char *name, int allowed)
{
	int what = state_of(store, name, true);

	if (!(what & allowed)) {
		char wanted[100];

		snprintf(wanted, sizeof(wanted), "%s", words_for(allowed));
		finding("%s is%s, not%s", name, words_for(what), wanted);
	}
}

static void check_store(const struct one_case *c)
{
	struct blm_store *store;
	int listed = 0, r = blm_store_open(&store, "s", 0);

	if (r < 0) {
		finding("the store does not open: %s", blm_error_message());
		return;
	}
	r = blm_store_list(store, NULL, count_one, &listed);
	if (r < 0)
		finding("the store does not list: %s", blm_error_message());
	/* where deleting is what failed, a file is left, which a repair then finds */
	if (failed_at(FAULT_UNLINK) || c->how & (TWO_STEPS | TWO_NAMES))
		blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL);
	else if (entries_of("s/filters", NULL) != listed)
		finding("%d files of %d filters", entries_of("s/filters", NULL), listed);
	/* but where it cannot be deleted, or looked for */
	if (c->how & LAST_SECRET && !shared->failed && entries_of("s/keys", NULL) != 1)
		finding("%d secrets, where one filter has one", entries_of("s/keys", NULL));
	/*
	 * only a drop deletes a damaged file; verify reports it for ever where the drop cannot
	 */
	r = blm_store_verify("s", 0, c->how & KEEPS_DAMAGE && failed_at(FAULT_UNLINK) ? NULL : tell,
			     NULL);
	if (r < 0)
		finding("the store cannot be verified: %s", blm_error_message());
	blm_store_close(store);
}

static void check_folders(void)
{
	static const char *const folders[] = { ".", "s/filters", "s/catalog", "s/keys",
					       "fresh/s/catalog" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (entries_of(folders[i], is_temporary) && !failed_at(FAULT_UNLINK))
			finding("a temporary file is left in %s", folders[i]);
}

/* What the call made or gave back. */
static void check_made(const struct one_case *c, struct world *w, int r)
{
	int what;

	if (r < 0 || !w->made)
		return;
	what = what_it_holds(w->made);
	if (c->new && what != c->new)
		finding("the new filter is%s", words_for(what));
}

/*
 * What the call was to change is as it should be, at the latest since it was made again; all else
 * is as it was.
 */
static void check_names(const struct one_case *c, const struct world *w)
{
	struct blm_store *store = NULL;
	int a = c->a ? c->a : FIRST, new = c->new && w->where != MEMORY ? c->new : GONE;

	expect(NULL, "a", w->where == PATH ? a : FIRST);
	expect(NULL, "b", SECOND);
	expect(NULL, "keyed", FIRST);
	expect(NULL, "new", w->where == PATH ? new : GONE);
	if (blm_store_open(&store, "s", 0) < 0)
		return;		/* told already */
	expect(store, "a", w->where == STORE ? a : FIRST);
	expect(store, "b", SECOND);
	expect(store, "keyed", FIRST);
	expect(store, "new", w->where == STORE ? new : GONE);
	blm_store_close(store);
}

static bool found_lost_blocks(const struct blm_filter *f)
{
	struct blm_info *info = &BLM_INFO;

	return blm_info(f, info) == 0 && info->lost_blocks;
}

/* The handle that the call went through goes on as if nothing had happened. */
static void check_handle(const struct one_case *c, struct world *w, int r)
{
	int allowed = (c->a ? c->a : FIRST) | (r < 0 ? FIRST : 0), what;

	if (!w->f || allowed & GONE)
		return;
	what = what_it_holds(w->f);
	if (!(what & allowed))
		finding("the handle says%s", words_for(what));
	if (c->how & READ_F)
		return;
	r = blm_add(w->f, "through the handle", 18);
	if (r < 0 && !never_takes_keys(r))
		finding("the handle takes no key: %s", blm_error_message());
	r = r < 0 ? 0 : blm_sync(w->f);
	/* that were damaged for the case, and are not repaired */
	if (r < 0 && !(r == -EUCLEAN && found_lost_blocks(w->f)))
		finding("the handle cannot be synced: %s", blm_error_message());
}

/* The store's handle, too: a commit that failed must not be the last. */
static void check_store_handle(const struct one_case *c, struct world *w)
{
	/* nothing to be searched for */
	const struct blm_params params = BLM_PARAMS(.kind = "classic", .cells = 4096, .probes = 7);
	int r;

	if (!w->store || c->how & NO_STORE)
		return;
	r = blm_create(NULL, w->store, "later", &params);
	if (r == 0)
		r = blm_store_drop(w->store, "later");
	if (r < 0)
		finding("the store's handle is of no more use: %s", blm_error_message());
}

/* The state after a failed call: the old one, or the intended one, and nothing between. */
static void check_half(const struct one_case *c, const struct world *w)
{
	struct blm_store *store = NULL;

	if (w->where == MEMORY || c->how & TWO_STEPS)
		return;
	if (w->where == STORE && blm_store_open(&store, "s", 0) < 0) {
		finding("the store does not open: %s", blm_error_message());
		return;
	}
	expect(store, "a", FIRST | c->a);
	expect(store, "new", c->new ? GONE | c->new : GONE);
	blm_store_close(store);
}

/* What failed can be done now, unless it was done after all. */
static void check_again(const struct one_case *c, struct world *w, int r)
{
	int again;

	if (r >= 0 && !(c->how & REPAIRS && shared->failed))
		return;
	w->made = blm_close(w->made);
	check_half(c, w);
	if (c->how & GIVES_STORE)
		w->store = blm_store_close(w->store);
	again = c->call(w);
	if (again < 0 && !(again == -EEXIST && (c->new || c->how &GIVES_FILE))
	    && !(again == -ENOENT && c->a & GONE) && !(again == -EROFS && c->how & SEALS))
		finding("fails again, though nothing does any more: %s (at first: %d)",
			blm_error_message(), r);
}

static void begin_world(const struct one_case *c, struct world *w)
{
	const char *a = w->where == MEMORY ? NULL : "a", *b = w->where == MEMORY ? NULL : "b";

	if (w->where == STORE && !(c->how & NO_STORE))
		FIXTURE(blm_store_open(&w->store, "s", 0));
	if (c->how & OPEN_F && a)
		FIXTURE(blm_open(&w->f, w->store, a, (!(c->how & READ_F)) ? BLM_OPEN_WRITE : 0));
	if (c->how & OPEN_G && b)
		FIXTURE(blm_open(&w->g, w->store, b, 0));
	if (c->how & OPEN_F && !a) {
		FIXTURE(blm_create(&w->f, NULL, NULL, &small));
		FIXTURE(add_keys(w->f, 0, KEYS));
	}
	if (c->how & OPEN_G && !b) {
		FIXTURE(blm_template(&w->g, NULL, NULL, w->f, 0));
		FIXTURE(add_keys(w->g, COMMON, 300));
	}
	if (c->before)
		c->before(w);
}

static void end_world(struct world *w)
{
	w->made = blm_close(w->made);
	w->f = blm_close(w->f);
	w->g = blm_close(w->g);
	w->store = blm_store_close(w->store);
	blm_free(w->bytes);
}

static bool storm;	/* signals interrupt the call all the time */

static void ignore(int signal)
{
}

/*
 * A handler without SA_RESTART: whatever the system interrupts, it leaves to the library to go on
 * with.
 */
static timer_t begin_storm(void)
{
	const struct itimerspec often = { { 0, 50000 }, { 0, 50000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = ignore }, NULL);
	FIXTURE(timer_create(CLOCK_MONOTONIC, &event, &timer));
	FIXTURE(timer_settime(timer, 0, &often, NULL));
	return timer;
}

static int call_it(const struct one_case *c, struct world *w)
{
	timer_t timer = NULL;
	int r;

	if (storm)
		timer = begin_storm();
	blm_fail(0, "%s", "");
	fault.armed = true;
	r = c->call(w);
	fault.armed = false;
	if (storm)
		timer_delete(timer);
	return r;
}

static void run(const struct one_case *c, enum where where)
{
	struct world w = { .where = where, .c = c };
	struct owned before = owned();
	int r;

	begin_world(c, &w);
	r = call_it(c, &w);
	shared->result = r;
	memcpy(shared->calls, fault.calls, sizeof(fault.calls));
	shared->failed = fault_all_failed();
	if (r < 0 && !*blm_error_message())
		finding("%d without words", r);
	if (r < -4095)
		finding("%d is no errno value", r);
	if (r < 0 && !shared->failed)
		finding("fails though nothing did: %s", blm_error_message());
	if (r == -EILSEQ)
		finding("a wrong answer");
	if (c->how & NO_CALLS && fault_all_calls())
		finding("makes %ld calls that can fail, and is said to make none",
			fault_all_calls());
	check_made(c, &w, r);
	check_handle(c, &w, r);
	check_store_handle(c, &w);
	check_again(c, &w, r);
	end_world(&w);
	if (!(c->how & FORKED))
		check_owned(&before);
	check_store(c);
	check_folders();
	check_names(c, &w);
}

/* ---- A folder for each run ---- */

static struct file { char *path; mode_t mode; char *bytes; size_t count; } files[64];
static unsigned file_count;

static int remember(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct file *f = &files[file_count++];
	FILE *in;

	*f = (struct file){ .path = strdup(path), .mode = st->st_mode & 0777, .bytes = NULL };
	if (type != FTW_F)
		return 0;
	in = fopen(path, "re");
	f->bytes = malloc((size_t)st->st_size + 1);
	f->count = fread(f->bytes, 1, (size_t)st->st_size, in);
	fclose(in);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static void lay_out(void)
{
	for (unsigned i = 1; i < file_count; i++) {
		const struct file *f = &files[i];
		int fd;

		if (!f->bytes) {
			FIXTURE(mkdir(f->path, f->mode));
			continue;
		}
		fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, f->mode);
		FIXTURE(fd < 0 || write(fd, f->bytes, f->count) != (ssize_t)f->count ? -EIO : 0);
		close(fd);
	}
}

static void begin_run(void)
{
	FIXTURE(mkdir("run", 0755));
	FIXTURE(chdir("run"));
	lay_out();
}

static void end_run(void)
{
	FIXTURE(chdir(".."));
	nftw("run", remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* One run in a process of its own. */
static void run_apart(const struct one_case *c, enum where where, const struct fault *plan)
{
	unsigned before = shared->findings;
	int status;
	pid_t pid;

	begin_run();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		long allocated = fault.allocated, mapped = fault.mapped;

		fault = *plan;
		fault_sites = plan->mode == FAULT_NEVER && !storm ? sites : NULL;
		fault.allocated = allocated;
		fault.mapped = mapped;
		alarm(RUN_SECONDS);
		run(c, where);
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	end_run();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		finding("hangs");
	else if (WIFSIGNALED(status))
		finding("ends with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		finding("the run itself ends with %d", WEXITSTATUS(status));
	else
		told += shared->findings - before;
}

/* ---- All runs of a case ---- */

static bool verbose, each;
static double share = 1;
static unsigned long dice;

static const char *const where_in_words[] = { "at a path", "in a store", "in memory" };

static bool chosen(void)
{
	dice = dice * 6364136223846793005ul + 1442695040888963407ul;
	return (double)(dice >> 33) / 2147483648.0 < share;
}

/* The same ones in each run, as those of chosen(). */
static bool chosen_of_three(void)
{
	dice = dice * 6364136223846793005ul + 1442695040888963407ul;
	return (dice >> 33) % 3 == 0;
}

static const char *error_name(int err)
{
	return err == FAULT_SHORT ? "half" : strerrorname_np(err);
}

static void run_plan(const struct one_case *c, enum where where, const struct fault *plan, long of)
{
	if (plan->mode == FAULT_NOW_AND_THEN)
		snprintf(run_name, sizeof(run_name), "%s %s, one of %ld calls fails, seed %lu",
			 c->name, where_in_words[where], plan->nth, plan->random);
	else if (plan->mode)
		snprintf(run_name, sizeof(run_name), "%s %s, %s, number %ld of %ld%s, %s", c->name,
			 where_in_words[where], fault_name(plan->call), plan->nth, of,
			 plan->mode == FAULT_ONCE ? "" : " and all after", error_name(plan->err));
	else
		snprintf(run_name, sizeof(run_name), "%s %s, %s", c->name, where_in_words[where],
			 storm ? "interrupted all the time" : "nothing fails");
	if (verbose) {
		printf("# %s\n", run_name);
		fflush(stdout);
	}
	run_apart(c, where, plan);
	shared->runs++;
}

/* Does the n-th call come from where no other does before it, or none after it? */
static bool is_first_or_last(enum fault_call call, long n, long calls)
{
	bool first = true, last = true;

	if (calls > FAULT_SITES)
		return true;
	for (long i = 1; i <= calls; i++)
		if (sites[call][i - 1] == sites[call][n - 1]) {
			first &= i >= n;
			last &= i <= n;
		}
	return first || last;
}

static void run_call(const struct one_case *c, enum where where, enum fault_call call, long calls)
{
	for (long n = 1; n <= calls; n++) {
		bool must = each && is_first_or_last(call, n, calls);

		for (unsigned e = 0; fault_errno(call, e); e++)
			for (enum fault_mode mode = FAULT_ONCE; mode <= FAULT_FROM_THEN_ON; mode++)
				if (chosen() || (must && e == 0))
					run_plan(c, where,
						 &(struct fault){ .mode = mode,
								  .call = call,
								  .nth = n,
								  .err = fault_errno(call, e) },
						 calls);
	}
}

static unsigned run_case(const struct one_case *c, enum where where)
{
	long calls[FAULT_CALLS];
	unsigned before = shared->findings;

	told = 0;
	run_plan(c, where, &(struct fault){ .mode = FAULT_NEVER }, 0);
	/* the test is wrong, or more than a failure */
	if (shared->findings > before)
		return shared->findings - before;
	memcpy(calls, shared->calls, sizeof(calls));
	storm = each || share >= 0.01 || chosen_of_three();
	if (storm)
		run_plan(c, where, &(struct fault){ .mode = FAULT_NEVER }, 0);
	storm = false;
	for (enum fault_call call = 0; call < FAULT_CALLS; call++)
		run_call(c, where, call, calls[call]);
	for (unsigned long seed = 1; seed <= 24; seed++)
		if (chosen())
			run_plan(c, where,
				 &(struct fault){ .mode = FAULT_NOW_AND_THEN,
						  .nth = 3 + (long)seed % 8 * 4,
						  .random = seed * 7919 },
				 0);
	return shared->findings - before;
}

/* ---- All cases ---- */

static const struct one_case *tables[] = {
	filters_cases,	forms_cases, stores_cases, lists_cases,
	exchange_cases, kinds_cases, built_cases,  banks_cases,
	NULL,		NULL,	/* room for other_kinds_cases(), built_kinds_cases() */
};

enum { UNITS_MOST = 1000 };

/*
 * A case at one of its places: what one process works on, in a folder of its own. Several do so at
 * the same time.
 */
struct unit {
	const struct one_case *c;
	enum where where;
	struct shared *shared;
	FILE *told;		/* its message, until its turn to be printed comes */
	pid_t pid;		/* 0: not begun, or ended */
	bool failed;
};

static bool wanted(const char *name, char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return count == 0;
}

static size_t list_units(struct unit *ret, char **names, size_t count)
{
	size_t n = 0;

	tables[ARRAY_LEN(tables) - 2] = other_kinds_cases();
	tables[ARRAY_LEN(tables) - 1] = built_kinds_cases();
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct one_case *c = tables[i]; c->name; c++)
			for (enum where where = PATH; where <= MEMORY; where++)
				if (c->how & 1u << where && wanted(c->name, names, count)) {
					FIXTURE(n < UNITS_MOST ? 0 : -ENOBUFS);
					ret[n++] =
						(struct unit){ .c = c, .where = where, .pid = 0 };
				}
	return n;
}

/* The same runs of a case are chosen, whatever other cases are run. */
static unsigned long seed_of(const struct unit *u)
{
	unsigned long seed = u->where;

	for (const char *at = u->c->name; *at; at++)
		seed = seed * 31 + (unsigned char)*at;
	return seed;
}

static void begin_unit(struct unit *u, size_t number)
{
	char folder[32];

	u->told = tmpfile();
	FIXTURE(u->told ? 0 : -errno);
	u->pid = fork();
	FIXTURE(u->pid < 0 ? -errno : 0);
	if (u->pid > 0)
		return;
	FIXTURE(dup2(fileno(u->told), STDOUT_FILENO) < 0 ? -errno : 0);
	snprintf(folder, sizeof(folder), "unit-%zu", number);
	FIXTURE(mkdir(folder, 0755));
	FIXTURE(chdir(folder));
	dice = seed_of(u);
	shared = u->shared;
	sites = mmap(NULL, FAULT_CALLS * sizeof(*sites), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FIXTURE(sites == MAP_FAILED ? -errno : 0);
	exit(run_case(u->c, u->where) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Wait for any of them. */
static void end_unit(struct unit *units, size_t count)
{
	int status;
	pid_t pid = wait(&status);

	for (size_t i = 0; i < count; i++)
		if (units[i].pid == pid) {
			units[i].pid = 0;
			units[i].failed = status != 0;
		}
}

static void tell_of(struct unit *u, size_t number)
{
	char words[4096];
	size_t n;

	rewind(u->told);
	while ((n = fread(words, 1, sizeof(words), u->told)) > 0)
		fwrite(words, 1, n, stdout);
	fclose(u->told);
	printf("%sok %zu - whatever fails under %s %s, it says so and leaves all as it was\n",
	       u->failed ? "not " : "", number, u->c->name, where_in_words[u->where]);
	fflush(stdout);
}

/* This many at the same time, printed in their order. Return: how many failed. */
static unsigned work_through(struct unit *units, size_t count, size_t at_once)
{
	size_t begun = 0, ended = 0, told_of = 0;
	unsigned failed = 0;

	while (told_of < count) {
		for (; begun < count && begun - ended < at_once; begun++)
			begin_unit(&units[begun], begun);
		end_unit(units, begun);
		ended++;
		for (; told_of < begun && units[told_of].pid == 0; told_of++) {
			tell_of(&units[told_of], told_of + 1);
			failed += units[told_of].failed;
		}
	}
	return failed;
}

static void go_to_work(void)
{
	const char *where = getenv("TMPDIR")		  ? getenv("TMPDIR")
			  : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							  : "/tmp";
	static char folder[300];
	int status;
	pid_t pid;

	snprintf(folder, sizeof(folder), "%.200s/bloomery-fault-XXXXXX", where);
	FIXTURE(mkdtemp(folder) ? 0 : -errno);
	FIXTURE(chdir(folder));
	FIXTURE(mkdir("fixture", 0755));
	FIXTURE(chdir("fixture"));
	pid = fork();
	if (pid == 0) {
		make_fixture();
		_exit(0);
	}
	FIXTURE(waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -EIO);
	nftw(".", remember, 32, FTW_PHYS);
	FIXTURE(chdir(folder));
}

int main(int argc, char **argv)
{
	static struct unit units[UNITS_MOST];
	const char *scale = getenv("BLOOMERY_TEST_SCALE");
	unsigned long at_once = 1, runs = 0, findings = 0;
	struct shared *all;
	char folder[300];
	unsigned failed;
	size_t count;
	int option;

	share = scale && !strcmp(scale, "full") ? 1 : scale ? atof(scale) * 0.05 : 0.05;
	while ((option = getopt(argc, argv, "evj:")) != -1) {
		verbose |= option == 'v';
		each |= option == 'e';
		if (option == 'j')
			at_once = strtoul(optarg, NULL, 10);
		if (option == '?' || at_once == 0)
			return EXIT_FAILURE;
	}
	/* fixed: LMDB's tables of megabytes, of which it needs little, come as zeros each time */
	mallopt(M_MMAP_THRESHOLD, 1 << 17);
	fault_begin_sites();
	go_to_work();
	count = list_units(units, argv + optind, (size_t)(argc - optind));
	all = mmap(NULL, (count + 1) * sizeof(*all), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FIXTURE(all == MAP_FAILED ? -errno : 0);
	for (size_t i = 0; i < count; i++)
		units[i].shared = &all[i];
	failed = work_through(units, count, at_once);
	for (size_t i = 0; i < count; i++) {
		runs += all[i].runs;
		findings += all[i].findings;
	}
	printf("1..%zu\n# %lu runs, %lu findings\n", count, runs, findings);
	FIXTURE(getcwd(folder, sizeof(folder)) && chdir("/") == 0 ? 0 : -EIO);
	nftw(folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
