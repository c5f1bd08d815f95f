/* options.c - the command line of the benchmark */
#include "bench.h"

#include <getopt.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MISUSED = 64 };

static const char usage[] =
	"usage: bench [--quick | --long] [OPTION...]\n"
	"\n"
	"Times the library, other libraries and whole programs beside what the machine allows, "
	"everything once in each round, and\n"
	"prints medians, quartiles and ratios of the same round, and what is wanted of them and "
	"whether it is met.\n"
	"\n"
	"  --keys N       keys in the main filters; others have a tenth, a hundredth; 100m by "
	"default\n"
	"  --rate P       false positives, 0.000001 to 0.5, 0.01 by default\n"
	"  --rounds N     1 to 101, 7 by default\n"
	"  --quick        4m keys, 3 rounds: to see that it works\n"
	"  --long         also filters of 1000m keys: some 20 minutes, 18 GB of disk and of "
	"memory; of kinds that do not combine\n"
	"                 as bits do only those that --only names\n"
	"  --only NAME    rows whose names contain it, or match it as a pattern; and what these "
	"are measured against\n"
	"  --list         names of the rows, and do no more\n"
	"  --json FILE    everything, as one object; - for standard output, then without the "
	"tables\n"
	"  --svg FILE     a plot of time against size\n"
	"  --curves       only the curves of this plot, up to 1 GiB: about a minute, 4 GB of disk "
	"and of memory\n"
	"  --readme       the tables of bloomery-performance(7) instead of all\n"
	"  --goals        only what is wanted, and whether it is met\n"
	"  --single       the same, measured and told for calls with one key only: some minutes\n"
	"  --dir DIR      where the files go, and are removed at the end: $TMPDIR or the current "
	"folder by default\n"
	"  --lock FILE    wait for this lock, as flock(1) takes it, before every round; for "
	"machines on which others measure, too\n"
	"  --program FILE the program bloomery; ../../tools/bloomery beside this one, or of $PATH "
	"by default\n"
	"\n"
	"Exit: 0 done, 1 a filter gave a wrong answer, 2 failed, 64 misused. Numbers take k, m, "
	"g.\n";

static int misused(const char *reason, const char *value)
{
	fprintf(stderr, "bench: %s%s; see bench --help\n", reason, value);
	return MISUSED;
}

/* A number from `least` to `most`, perhaps with a letter for thousands; else NAN. */
static double number(const char *s, double least, double most)
{
	static const char letters[] = "kmg";
	char *end;
	double x = strtod(s, &end);
	const char *letter = end != s && *end ? strchr(letters, *end) : NULL;

	if (letter) {
		x *= pow(1000, (double)(letter - letters + 1));
		end++;
	}
	return end != s && !*end && x >= least && x <= most ? x : NAN;
}

static int take_number(struct options *o, int option, const char *value)
{
	double x = option == 'p' ? number(value, 1e-6, 0.5)
		 : option == 'k' ? number(value, 10000, 1e10)
				 : number(value, 1, ROUNDS_MAX);

	if (isnan(x) || (option == 'r' && x != floor(x)))
		return misused("not a number, or out of range: ", value);
	if (option == 'k')
		o->keys = (uint64_t)x;
	else if (option == 'p')
		o->rate = x;
	else
		o->rounds = (unsigned)x;
	return 0;
}

static int take(struct options *o, int option, const char *value)
{
	switch (option) {
	case 'k': case 'p': case 'r': return take_number(o, option, value);
	case 'q': o->keys = 4000000; o->rounds = 3; break;
	case 'l': o->keys = 100000000; o->most_keys = 1000000000; break;
	case 'o': o->only = value; break;
	case 'n': o->list = true; break;
	case 'j': o->json = value; break;
	case 'c': o->curves = true; break;
	case 's': o->svg = value; break;
	case 'm': o->report = report_readme; break;
	case 'g': o->report = report_goals; break;
	case 'i': o->report = report_single; o->single = true; break;
	case 'd': o->dir = value; break;
	case 'w': o->lock = value; break;
	case 'b': o->program = value; break;
	default: return MISUSED;
	}
	return 0;
}

/* The program of the same build, else the one that is installed. */
static const char *find_program(void)
{
	static char beside[4200];
	char *self = realpath("/proc/self/exe", NULL), *slash = self ? strrchr(self, '/') : NULL;

	if (slash)
		snprintf(beside, sizeof(beside), "%.*s/../../tools/bloomery", (int)(slash - self),
			 self);
	free(self);
	if (slash && access(beside, X_OK) == 0)
		return beside;
	return access("/usr/local/bin/bloomery", X_OK) == 0 ? "/usr/local/bin/bloomery"
	     : access("/usr/bin/bloomery", X_OK) == 0 ? "/usr/bin/bloomery" : NULL;
}

int read_options(struct options *ret, int argc, char **argv)
{
	static const struct option names[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "long", no_argument, NULL, 'l' },
		{ "keys", required_argument, NULL, 'k' },
		{ "rate", required_argument, NULL, 'p' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "only", required_argument, NULL, 'o' },
		{ "list", no_argument, NULL, 'n' },
		{ "json", required_argument, NULL, 'j' },
		{ "curves", no_argument, NULL, 'c' },
		{ "svg", required_argument, NULL, 's' },
		{ "readme", no_argument, NULL, 'm' },
		{ "goals", no_argument, NULL, 'g' },
		{ "single", no_argument, NULL, 'i' },
		{ "dir", required_argument, NULL, 'd' },
		{ "program", required_argument, NULL, 'b' },
		{ "lock", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *tmp = getenv("TMPDIR");
	struct options o = { .keys = 100000000,
			     .rate = 0.01,
			     .rounds = 7,
			     .report = report_tables,
			     .dir = tmp && *tmp ? tmp : "." };
	int option, code = 0;

	while (code == 0 && (option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return -1;
		}
		code = take(&o, option, optarg);
	}
	if (code == 0 && optind < argc)
		return misused("unexpected: ", argv[optind]);
	o.questions = o.keys >= 10000000 ? 1 << 18 : o.keys >= 1000000 ? 1 << 16 : PIECE;
	if (!o.program)
		o.program = find_program();
	*ret = o;
	return code;
}
