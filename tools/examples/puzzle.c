/*
 * puzzle.c - how many states of the 8-puzzle a search misses, when a filter remembers where it has
 * been
 *
 *	cc puzzle.c $(pkg-config --cflags --libs bloomery) -o puzzle && ./puzzle
 *
 * A model checker, as SPIN, walks through all states that a system can come to, and must know which
 * it has seen. A filter needs a few bits a state for that, at the price of missing those that it
 * takes for seen. A proof that no state is bad needs the number of missed states. The 8-puzzle has
 * 9! / 2 = 181440 states.
 */
#include <bloomery.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof(*(a)))

enum { SIDE = 3, CELLS = SIDE * SIDE, STATES = 181440 };

struct state {
	char tile[CELLS];	/* '0' is the gap */
};

static int must(int r)
{
	if (r < 0) {
		fprintf(stderr, "puzzle: %s: %s\n", blm_strerror(r), blm_error_message());
		exit(1);
	}
	return r;
}

/* The state with the gap moved by dx and dy; false: the edge is in the way. */
static bool slide(struct state *s, int dx, int dy)
{
	int gap = (int)((const char *)memchr(s->tile, '0', CELLS) - s->tile), x = gap % SIDE + dx,
		y = gap / SIDE + dy;

	if (x < 0 || x >= SIDE || y < 0 || y >= SIDE)
		return false;
	s->tile[gap] = s->tile[y * SIDE + x];
	s->tile[y * SIDE + x] = '0';
	return true;
}

/*
 * Breadth first; a state is new if adding it changed the filter. Returns how many states were
 * visited.
 */
static unsigned explore(struct blm_filter *seen)
{
	static const int step[][2] = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } };
	struct state *queue = calloc(STATES, sizeof(*queue));
	unsigned visited = 0, found = 1;

	if (!queue)
		exit(1);
	memcpy(queue[0].tile, "123456780", CELLS);
	must(blm_add(seen, queue[0].tile, CELLS));
	while (visited < found) {
		const struct state *from = &queue[visited++];

		for (int i = 0; i < 4; i++) {
			struct state to = *from;

			if (slide(&to, step[i][0], step[i][1])
			    && must(blm_add(seen, to.tile, CELLS)))
				queue[found++] = to;
		}
	}
	free(queue);
	return visited;
}

static void run(const struct blm_params *params, const char *what)
{
	/* left out, it is random, and the numbers differ a little from run to run */
	static const uint64_t seed = 1;
	struct blm_params p = *params;
	struct blm_filter *seen;
	struct blm_info info = BLM_INFO;
	unsigned visited;

	p.capacity = STATES;
	p.seeds = &seed;
	p.seed_count = 1;
	must(blm_create(&seen, NULL, NULL, &p));	/* in memory */
	must(blm_info(seen, &info));
	visited = explore(seen);
	printf("%-28s %5.1f bits a state: %6u visited, %5u missed\n", what,
	       (double)info.data_bytes * 8 / STATES, visited, STATES - visited);
	blm_close(seen);
}

int main(void)
{
	static const unsigned bits[] = { 4, 8, 10, 16, 24 },
		signatures[] = { 8, 10, 16, 21, 24, 32 };
	char what[64], options[64];

	for (size_t i = 0; i < 2 * COUNT_OF(bits); i++) {
		const struct blm_params p = BLM_PARAMS(.kind = "classic",
						       .cells = (uint64_t)bits[i / 2] * STATES,
						       .probes = i % 2 ? 0 : 3);

		snprintf(what, sizeof(what), i % 2 ? "classic, the best k" : "classic, k = 3");
		run(&p, what);
	}
	for (size_t i = 0; i < COUNT_OF(signatures); i++) {
		snprintf(what, sizeof(what), "hash-compact, %u bits", signatures[i]);
		snprintf(options, sizeof(options), "signature-bits=%u", signatures[i]);
		run(&BLM_PARAMS(.kind = "hash-compact", .options = options), what);
	}
	return 0;
}
