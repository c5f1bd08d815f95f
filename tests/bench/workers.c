/*
 * workers.c - processes that do the measuring: one for each instruction set, as the library picks
 * its own once in a process
 */
#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
	pid_t pid;
	int in, out;	/* the worker's ends are the other ones */
} workers[WORKERS];

static uint64_t *arrived;	/* shared by all */

static bool all(int fd, void *bytes, size_t count, bool writing)
{
	for (size_t done = 0; done < count;) {
		char *at = (char *)bytes + done;
		ssize_t n = writing ? write(fd, at, count - done) : read(fd, at, count - done);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

int worker_ask(int worker, const struct job *job)
{
	struct job copy = *job;

	return all(workers[worker].out, &copy, sizeof(copy), true) ? 0 : -EPIPE;
}

int worker_hear(int worker, struct result *ret)
{
	if (all(workers[worker].in, ret, sizeof(*ret), false))
		return 0;
	fprintf(stderr, "bench: a worker died\n");
	return -ECHILD;
}

static void serve(const struct plan *plan, int in, int out)
{
	struct plan *own = (struct plan *)(uintptr_t)plan;	/* a copy since fork() */
	struct result result;
	struct job job;

	while (all(in, &job, sizeof(job), false) && job.order != QUIT) {
		memset(&result, 0, sizeof(result));
		work_do(own, &job, &result);
		if (!all(out, &result, sizeof(result), true))
			break;
	}
	for (size_t i = 0; i < own->site_count; i++)
		if (own->sites[i].it)
			own->sites[i].engine->close(&own->sites[i]);
}

/*
 * All that call this with the same count, at the same moment; a process that died does not hold the
 * others for ever.
 */
void work_together(unsigned count)
{
	uint64_t ticket = __atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL),
		 target = (ticket / count + 1) * count;
	time_t limit = time(NULL) + 10;

	for (unsigned i = 1; __atomic_load_n(arrived, __ATOMIC_ACQUIRE) < target; i++)
		if (i % 1024 == 0) {
			sched_yield();
			if (time(NULL) > limit)
				break;
		}
}

static int start(const struct plan *plan, int worker, const char *set)
{
	int to[2], from[2];
	pid_t pid;

	if (pipe(to) < 0 || pipe(from) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		for (int i = 0; i < WORKERS; i++)
			if (workers[i].pid) {	/* or their ends would never be seen */
				close(workers[i].in);
				close(workers[i].out);
			}
		if (set)
			setenv("BLOOMERY_SIMD", set, 1);
		serve(plan, to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	workers[worker].pid = pid;
	workers[worker].in = from[0];
	workers[worker].out = to[1];
	return 0;
}

int workers_start(const struct plan *plan)
{
	int r = 0;

	arrived = mmap(NULL, sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (arrived == MAP_FAILED)
		return -errno;
	for (int i = 0; i < SETS_MAX && plan->sets[i] && r == 0; i++)
		r = start(plan, i, plan->sets[i]);
	for (int i = PEERS; i < WORKERS && r == 0; i++)
		r = start(plan, i, i == SECOND ? plan->sets[0] : NULL);
	return r;
}

void workers_stop(void)
{
	for (int i = 0; i < WORKERS; i++) {
		if (!workers[i].pid)
			continue;
		worker_ask(i, &(struct job){ .order = QUIT });
		close(workers[i].out);
		close(workers[i].in);
	}
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].pid)
			while (waitpid(workers[i].pid, NULL, 0) < 0 && errno == EINTR)
				;
}
