/*
 * main.c - how near the filters come to what the machine allows, and how far others are: one run,
 * everything in the same rounds
 */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum exit_code { DONE = 0, WRONG = 1, FAILED = 2 };

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
	signalled = 1;
}

bool stopped(void)
{
	return signalled;
}

static void catch_signals(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		sigaction(all[i],
			  &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART },
			  NULL);
	signal(SIGPIPE, SIG_IGN);	/* a dead worker is an error, not our end */
}

/* The folder is ours alone, and holds only files. */
static void remove_dir(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}

/* Found out before the run, not after it. A file that exists stays as it is. */
static bool can_write(const char *path)
{
	bool there;
	FILE *f;

	if (!path || !strcmp(path, "-"))
		return true;
	there = access(path, F_OK) == 0;
	f = fopen(path, "ae");
	if (!f) {
		fprintf(stderr, "bench: cannot write %s: %s\n", path, strerror(errno));
		return false;
	}
	fclose(f);
	if (!there)
		unlink(path);
	return true;
}

static int write_to(const char *path, const struct plan *plan,
		    void (*write)(const struct plan *, FILE *))
{
	FILE *f;

	if (!path)
		return 0;
	if (!strcmp(path, "-")) {
		write(plan, stdout);
		return 0;
	}
	f = fopen(path, "we");
	if (f)
		write(plan, f);
	if (f && fclose(f) == 0)
		return 0;
	fprintf(stderr, "bench: cannot write %s: %s\n", path, strerror(errno));
	return -EIO;
}

static void list(const struct plan *plan)
{
	for (size_t i = 0; i < plan->row_count; i++)
		if (plan->rows[i].wanted)
			puts(plan->rows[i].name);
}

static int report(const struct plan *plan)
{
	int r = write_to(plan->options.json, plan, report_json);

	if (r == 0)
		r = write_to(plan->options.svg, plan, plot_svg);
	if (r == 0 && !(plan->options.json && !strcmp(plan->options.json, "-")))
		plan->options.report(plan, stdout);
	return r == 0 && fflush(stdout) == 0 ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	struct options options;
	struct plan *plan;
	int r;

	r = read_options(&options, argc, argv);
	if (r != 0)
		return r < 0 ? DONE : r;
	if (!options.list
	    && !(can_write(options.json) && can_write(options.svg) && can_write(options.lock)))
		return FAILED;
	catch_signals();
	plan = malloc(sizeof(*plan));
	if (!plan || plan_make(plan, &options) < 0)
		return FAILED;
	if (options.list) {
		list(plan);
		return DONE;
	}
	r = plan_run(plan);
	remove_dir(plan->dir);
	if (r == 0)
		r = report(plan);
	free(plan);
	return r == 0 ? DONE : r == -EUCLEAN ? WRONG : FAILED;
}
