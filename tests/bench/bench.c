/* bench.c - how near the filters come to what the machine allows: limits and filters in the same rounds */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum exit_code { DONE = 0, WRONG = 1, FAILED = 2, MISUSED = 64 };

static const char *const kinds[] = { "classic", "blocked" };

static const char usage[] =
	"usage: bench [--keys N] [--rate P] [--rounds N] [--quick] [--json]\n"
	"\n"
	"Times the library's calls on filters larger than the cache, beside what the machine allows on the same pages.\n"
	"The filters are files in $TMPDIR, or where that is not set in the current folder, and removed at the end.\n"
	"\n"
	"  --keys N    keys in each filter, 50000000 by default\n"
	"  --rate P    false positives, 0.000001 to 0.5, 0.01 by default\n"
	"  --rounds N  measurements of which the median is taken, 7 by default\n"
	"  --quick     4000000 keys and 3 rounds: a few seconds, to see that it works\n"
	"  --json      one object a line instead of a table\n"
	"\n"
	"Exit: 0 done, 1 a filter gave a wrong answer, 2 failed, 64 misused.\n";

static int misused(const char *why, const char *value)
{
	fprintf(stderr, "bench: %s%s; see bench --help\n", why, value);
	return MISUSED;
}

/* A number from `least` to `most`; else NAN. */
static double number(const char *s, double least, double most)
{
	char *end;
	double x = strtod(s, &end);

	return end != s && !*end && x >= least && x <= most ? x : NAN;
}

static int take(struct options *options, int option, const char *value)
{
	double x = !value ? 0 : option == 'p' ? number(value, 1e-6, 0.5) : number(value, 1, option == 'k' ? 1e12 : ROUNDS_MAX);

	if (isnan(x))
		return misused("not a number, or out of range: ", value);
	if (option == 'k')
		options->keys = (uint64_t)x;
	else if (option == 'p')
		options->rate = x;
	else if (option == 'r')
		options->rounds = (unsigned)x;
	else if (option == 'q')
		options->keys = 4000000, options->rounds = 3;
	else
		options->json = true;
	return DONE;
}

/* Few enough that the filter which the rounds find is nearly as full as the one they leave. */
static size_t batch_for(const struct options *options)
{
	uint64_t most = options->keys / (10 * options->rounds);

	return most < 1 << 18 ? most : 1 << 18;
}

static int read_options(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "quick", no_argument, NULL, 'q' }, { "keys", required_argument, NULL, 'k' },
		{ "rate", required_argument, NULL, 'p' }, { "rounds", required_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, { 0 },
	};
	int option, code = DONE;

	while (code == DONE && (option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			exit(DONE);
		}
		code = option == '?' ? MISUSED : take(options, option, optarg);
	}
	if (code == DONE && optind < argc)
		return misused("unexpected: ", argv[optind]);
	options->batch = code == DONE ? batch_for(options) : 0;
	if (code == DONE && options->batch < 1000)
		return misused("too few keys for so many rounds", "");
	return code;
}

static volatile sig_atomic_t signalled;

static void on_signal(int number_of_it)
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
		sigaction(all[i], &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART }, NULL);
}

static int run(struct subject *subjects, const struct options *options)
{
	struct series *series = calloc(ARRAY_LEN(kinds) * (LIMITS + work_count), sizeof(*series));
	size_t count = 0;
	int r = series ? 0 : -ENOMEM;

	if (!series)
		fprintf(stderr, "bench: out of memory\n");
	for (size_t i = 0; i < ARRAY_LEN(kinds) && r == 0; i++) {
		r = subject_make(&subjects[i], kinds[i], options);
		count += r == 0 ? series_list(series + count, &subjects[i]) : 0;
	}
	for (unsigned round = 0; round < options->rounds && r == 0; round++)
		r = run_round(series, count, round);
	for (size_t i = 0; i < ARRAY_LEN(kinds) && r == 0; i++)
		r = subject_check(&subjects[i]);
	if (r == 0) {
		print_machine(options->json);
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			print_subject(&subjects[i], options->json);
		print_series(series, count, options);
	}
	free(series);
	return r;
}

static char *own_folder(void)
{
	const char *in = getenv("TMPDIR");
	char *dir;

	if (asprintf(&dir, "%s/bench-XXXXXX", in && *in ? in : ".") < 0)
		return NULL;
	if (mkdtemp(dir))
		return dir;
	fprintf(stderr, "bench: cannot make %s: %s\n", dir, strerror(errno));
	free(dir);
	return NULL;
}

int main(int argc, char **argv)
{
	struct options options = { .keys = 50000000, .rate = 0.01, .rounds = 7 };
	struct subject subjects[ARRAY_LEN(kinds)] = { 0 };
	int r, code = read_options(&options, argc, argv);
	char *dir;

	if (code != DONE)
		return code;
	catch_signals();
	dir = own_folder();
	if (!dir)
		return FAILED;
	options.dir = dir;
	r = run(subjects, &options);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		subject_remove(&subjects[i]);
	rmdir(dir);
	free(dir);
	return r == 0 ? DONE : r == -EUCLEAN ? WRONG : FAILED;
}
