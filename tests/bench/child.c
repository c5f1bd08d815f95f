/* child.c - other programs, run to their end or held for a look */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* `in`: a descriptor; the program has only this one and its output open. */
static int start(const char *const *argv, int in, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	int r;

	setenv("LC_ALL", "C", 1);
	r = -posix_spawn_file_actions_init(&files);
	if (r < 0)
		return r;
	r = -posix_spawn_file_actions_adddup2(&files, in, 0);
	if (r == 0)
		r = -posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = -posix_spawnp(ret, argv[0], &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

int run_program(const char *const *argv, const char *input, struct run *ret)
{
	int in = open(input ? input : "/dev/null", O_RDONLY | O_CLOEXEC), status, r;
	double begin = now();
	struct rusage usage;
	pid_t pid;

	if (in < 0)
		return -errno;
	r = start(argv, in, &pid);
	close(in);
	if (r < 0)
		return r;
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return -errno;
	*ret = (struct run){ .ms = now() - begin, .mib = (double)usage.ru_maxrss / 1024,
			     .code = WIFEXITED(status) ? WEXITSTATUS(status) : -1 };
	return 0;
}

static void pause_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

/* Its state and anonymous memory; false: it is gone. */
static bool look(pid_t pid, char *ret_state, double *ret_mib)
{
	char path[40], line[256];
	unsigned long kib;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	*ret_mib = 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "State: %c", ret_state) != 1
		    && sscanf(line, "RssAnon: %lu", &kib) == 1)
			*ret_mib = (double)kib / 1024;
	fclose(f);
	return true;
}

int private_memory(const char *const *argv, const char *bytes, double *ret_mib)
{
	int ends[2], r, asleep = 0;
	char state = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = start(argv, ends[0], &pid);
	close(ends[0]);
	if (r == 0 && write(ends[1], bytes, strlen(bytes)) < 0)
		r = -errno;
	/* asleep for 20 ms: it has answered */
	for (int i = 0; r == 0 && i < 5000 && asleep < 10; i++) {
		pause_a_little();
		if (!look(pid, &state, ret_mib) || state == 'Z')
			r = -ECHILD;
		asleep = state == 'S' ? asleep + 1 : 0;
	}
	close(ends[1]);
	waitpid(pid, NULL, 0);
	return r;
}

bool have_program(const char *name)
{
	const char *path = getenv("PATH");
	char *all = strdup(path ? path : ""), *file, *rest = all;
	bool found = strchr(name, '/') && access(name, X_OK) == 0;

	for (char *dir; !found && (dir = strsep(&rest, ":"));) {
		if (asprintf(&file, "%s/%s", dir, name) < 0)
			break;
		found = access(file, X_OK) == 0;
		free(file);
	}
	free(all);
	return found;
}
