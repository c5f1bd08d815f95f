/*
 * claim.c - the claim protocol of kind/common/bits.h under every interleaving, with deaths and
 * strangers
 *
 * The code under test is bits_claim() itself, and bits_claim_words(): their loads and ORs of shared
 * words are caught here. A process is the list of answers that its operations got so far; to learn
 * what it does next, the claim runs again from the start, is given those answers, and stops at the
 * first operation that has none. So a state of the whole (the words, and each process's answers) is
 * a value, and all states that any order of steps can reach are visited, each once.
 */
#include "base/base.h"
#include "suite.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>

enum { PROCESSES = 3, WORDS = 3, STEPS = 14 };	/* at most 7 probes, each loaded and set */

/* ---- Catching the operations ---- */

enum operation { LOAD, OR, WON, LOST };

static _Thread_local struct {
	bool on;
	uint64_t *words;		/* their addresses only */
	const uint8_t *answers;
	unsigned count, next;
	enum operation operation;	/* the first without an answer, on this word */
	unsigned word;
	uint64_t mask;
	jmp_buf out;
} replay;

static uint64_t caught(enum operation operation, uint64_t *word, uint64_t mask)
{
	if (replay.next < replay.count)
		return replay.answers[replay.next++];
	replay.operation = operation;
	replay.word = (unsigned)(word - replay.words);
	replay.mask = mask;
	longjmp(replay.out, 1);
}

static uint64_t caught_load(const uint64_t *word)
{
	return replay.on ? caught(LOAD, (uint64_t *)word, 0) : load_acquire(word);
}

static uint64_t caught_or(uint64_t *word, uint64_t mask, int order)
{
	(void)order;
	return replay.on ? htole64(caught(OR, word, le64toh(mask)))
			 : __atomic_fetch_or(word, mask, __ATOMIC_ACQ_REL);
}

#define load_acquire(word) caught_load(word)
#define __atomic_fetch_or(word, mask, order) caught_or(word, mask, order)
#include "kind/common/one_key.h"
#undef load_acquire
#undef __atomic_fetch_or

typedef bool claim_function(const struct blm_bits *bits, bool *lacks, size_t count, bool alone);

/* For words that lie together: looked at first, as a kind's loop does, then claimed. */
static bool claim_words(const struct blm_bits *bits, bool *lacks, size_t count, bool alone)
{
	uint64_t masks[8];
	unsigned lacking = 0;

	(void)lacks;
	for (size_t i = 0; i < count; i++) {
		masks[i] = bits[i].mask;
		lacking |= (unsigned)((bits[i].mask & ~caught_load(bits[i].word)) != 0) << i;
	}
	return bits_claim_words(bits[0].word, masks, lacking, alone);
}

/* The probes of a blocked filter, in an order other than that of the words. Return: how many */
static unsigned put_probes(const struct blm_bits *bits, size_t count, uint64_t *ret_word)
{
	unsigned probes = 0;

	*ret_word = 0;
	for (unsigned bit = 0; bits[0].mask >> bit; bit++)	/* each word has the same mask */
		for (size_t i = count; i-- > 0;)
			if (bits[i].mask >> bit & 1)
				*ret_word |= (i * 64 + bit) << probes++ * PROBE_BITS;
	return probes;
}

/* Each probe for itself. The last probe is also the first one, which a key can have. */
static bool claim_probes(const struct blm_bits *bits, bool *lacks, size_t count, bool alone)
{
	uint64_t word;
	unsigned probes = put_probes(bits, count, &word);

	(void)lacks, (void)alone;
	word |= word % BLOCK_BITS << probes++ * PROBE_BITS;
	return block_claim_few(bits[0].word, probes, word,
			       block_lacks_probes(bits[0].word, probes, word));
}

/* All probes differ, and most often the last one decides. */
static bool claim_by_last(const struct blm_bits *bits, bool *lacks, size_t count, bool alone)
{
	uint64_t word;
	unsigned probes = put_probes(bits, count, &word);

	(void)lacks, (void)alone;
	return block_claim_by_last(bits[0].word, probes, word,
				   block_lacks_last(bits[0].word, probes, word));
}

static claim_function *const protocols[] = { bits_claim, claim_words, claim_probes,
					    claim_by_last };
enum { PROTOCOLS = ARRAY_LEN(protocols) };

/* ---- Every state that can be ---- */

enum status { RUNNING, TOLD_NEW, TOLD_OLD, DEAD };

struct process {
	uint8_t status, count, answers[STEPS];
};

struct state {
	uint8_t word[WORDS];
	struct process process[PROCESSES];
};

struct model {
	claim_function *claim;
	claim_function *first;		/* of the first process, if it claims in another order */
	unsigned processes, words;
	uint8_t mask;			/* of each word */
	bool stranger, deaths;
	/* found out: */
	uint64_t states, ends;
	unsigned most_new, fewest_new;	/* told new, over all ends */
};

/* A set of states, and those of them not visited yet. */
static struct state *all;
static uint32_t *slots;
static size_t count, capacity, slot_count;

static uint64_t hash_of(const struct state *s)
{
	uint64_t words[(sizeof(*s) + 7) / 8] = { 0 }, h = 0;

	memcpy(words, s, sizeof(*s));
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		h = mixed(h ^ words[i]);
	return h;
}

static void insert(size_t index)
{
	size_t at = hash_of(&all[index]) % slot_count;

	while (slots[at])
		at = (at + 1) % slot_count;
	slots[at] = (uint32_t)index + 1;
}

static void reach(const struct state *s)
{
	size_t at;

	if (count * 2 >= slot_count) {
		slot_count = slot_count ? slot_count * 4 : 1 << 12;
		free(slots);
		slots = calloc(slot_count, sizeof(*slots));
		for (size_t i = 0; i < count; i++)
			insert(i);
	}
	for (at = hash_of(s) % slot_count; slots[at]; at = (at + 1) % slot_count)
		if (!memcmp(&all[slots[at] - 1], s, sizeof(*s)))
			return;
	if (count == capacity)
		all = realloc(all, (capacity = capacity ? capacity * 2 : 1024) * sizeof(*all));
	all[count++] = *s;
	slots[at] = (uint32_t)count;
}

/* What this process does next. */
static void next_operation(const struct model *m, const struct process *p,
			   claim_function *claim)
{
	static uint64_t words[WORDS];
	struct blm_bits bits[WORDS];
	bool lacks[WORDS];

	for (unsigned i = 0; i < m->words; i++)
		bits[i] = (struct blm_bits){ .word = &words[i], .mask = m->mask };
	replay.on = true;
	replay.words = words;
	replay.answers = p->answers;
	replay.count = p->count;
	replay.next = 0;
	if (!setjmp(replay.out))
		replay.operation = claim(bits, lacks, m->words, false) ? WON : LOST;
	replay.on = false;
}

static void step(const struct model *m, const struct state *before, unsigned which)
{
	struct state s = *before;
	struct process *p = &s.process[which];

	next_operation(m, p, which == 0 && m->first ? m->first : m->claim);
	if (replay.operation == WON || replay.operation == LOST) {
		ck_assert_uint_eq(replay.next, p->count);	/* it used every answer */
		*p = (struct process){ .status = replay.operation == WON ? TOLD_NEW : TOLD_OLD };
	} else {
		/* so it ends whatever the others do */
		ck_assert_uint_lt(p->count, STEPS);
		p->answers[p->count++] = s.word[replay.word];
		if (replay.operation == OR)
			s.word[replay.word] |= (uint8_t)replay.mask;
	}
	reach(&s);
}

static void end(struct model *m, const struct state *s)
{
	unsigned told_new = 0;

	for (unsigned i = 0; i < m->processes; i++)
		told_new += s->process[i].status == TOLD_NEW;
	m->ends++;
	if (told_new > m->most_new)
		m->most_new = told_new;
	if (told_new < m->fewest_new)
		m->fewest_new = told_new;
	/* after any answer a process can rely on the key being there */
	for (unsigned i = 0; i < m->processes; i++)
		for (unsigned w = 0; w < m->words && s->process[i].status != DEAD; w++)
			ck_assert_uint_eq(s->word[w], m->mask);
}

static void visit(struct model *m, struct state s)
{
	bool ended = true;

	for (unsigned i = 0; i < m->processes; i++)
		if (s.process[i].status == RUNNING) {
			ended = false;
			step(m, &s, i);
			if (m->deaths) {
				struct state dead = s;

				dead.process[i] = (struct process){ .status = DEAD };
				reach(&dead);
			}
		}
	/* another key sets one of the bits */
	for (unsigned w = 0; w < m->words && m->stranger; w++)
		for (uint8_t bit = 1; bit <= m->mask; bit = (uint8_t)(bit << 1))
			if (bit & ~s.word[w]) {
				struct state more = s;

				more.word[w] |= bit;
				reach(&more);
			}
	if (ended)
		end(m, &s);
}

/* Begin from every way that the words can be, short of all set. */
static struct model explore(struct model m)
{
	unsigned width = (unsigned)__builtin_popcount(m.mask);

	m.fewest_new = PROCESSES;
	for (unsigned start = 0; start < (1u << width * m.words) - 1; start++) {
		struct state s = { 0 };

		for (unsigned w = 0; w < m.words; w++)
			s.word[w] = (uint8_t)(start >> w * width & m.mask);
		reach(&s);
	}
	for (size_t i = 0; i < count; i++)
		visit(&m, all[i]);
	m.states = count;
	free(all), free(slots);
	all = NULL, slots = NULL;
	count = capacity = slot_count = 0;
	return m;
}

static const struct { unsigned processes, words; uint8_t mask;
} sizes[] = {
	{ 1, 1, 1 }, { 1, 3, 3 }, { 2, 1, 3 }, { 2, 2, 1 }, { 2, 2, 3 },
	{ 2, 3, 1 }, { 3, 1, 3 }, { 3, 2, 1 }, { 3, 3, 1 }, { 2, 3, 3 },
};
/* of the rest there are too many states */
enum { SIZES = ARRAY_LEN(sizes), SIZES_FOR_STRANGERS = SIZES - 1, SIZES_FOR_ALL = SIZES - 2 };

/*
 * A third of them with a share of the work; sanitizers see as much of the protocols in the
 * smaller ones, whose states are few.
 */
static bool is_left_out_here(int size)
{
	return test_scale() < 1 && (size % 3 != 1 || (SANITIZED && size > 4));
}

/* The protocols and sizes in turn: the i-th. */
static struct model explored(int i, bool deaths, bool stranger)
{
	return explore((struct model){
		.claim = protocols[i % PROTOCOLS],
		.processes = sizes[i / PROTOCOLS].processes,
		.words = sizes[i / PROTOCOLS].words,
		.mask = sizes[i / PROTOCOLS].mask,
		.deaths = deaths,
		.stranger = stranger,
	});
}

START_TEST(one_of_all_claimers_of_a_key_wins_it)
{
	struct model m;

	if (is_left_out_here(_i / PROTOCOLS))
		return;
	m = explored(_i, false, false);
	ck_assert_uint_gt(m.ends, 0);
	ck_assert_uint_eq(m.most_new, 1);
	ck_assert_uint_eq(m.fewest_new, 1);
}
END_TEST

START_TEST(deaths_at_any_step_allow_at_most_one_winner)
{
	struct model m;

	if (is_left_out_here(_i / PROTOCOLS))
		return;
	m = explored(_i, true, false);
	ck_assert_uint_eq(m.most_new, 1);
	ck_assert_uint_eq(m.fewest_new, 0);
}
END_TEST

/*
 * With a share of the work only in the small size: the next test reaches the states of the
 * others.
 */
START_TEST(other_keys_bits_at_any_step_allow_one_winner)
{
	if (!is_left_out_here(_i / PROTOCOLS) && (test_scale() == 1 || _i / PROTOCOLS == 1))
		ck_assert_uint_eq(explored(_i, false, true).most_new, 1);
}
END_TEST

START_TEST(deaths_and_other_keys_allow_at_most_one_winner)
{
	if (!is_left_out_here(_i / PROTOCOLS))
		ck_assert_uint_eq(explored(_i, true, true).most_new, 1);
}
END_TEST

/* The one who completes the key can win, and no other. So two orders never make two winners. */
START_TEST(claimers_in_two_orders_are_never_both_first)
{
	struct model m = { .claim = claim_words, .first = claim_probes,
			   .processes = sizes[_i].processes, .words = sizes[_i].words,
			   .mask = sizes[_i].mask };

	if (!is_left_out_here(_i))
		ck_assert_uint_eq(explore(m).most_new, 1);
}
END_TEST

/* ---- What would be wrong, so that the model is known to see it ---- */

/* "I changed something": what an add says. */
static bool changed_any(const struct blm_bits *bits, bool *lacks, size_t n, bool alone)
{
	bool won = false;

	(void)lacks;
	for (size_t i = 0; i < n; i++)
		won |= bits_set(bits[i].word, bits[i].mask, alone) != 0;
	return won;
}

/* The first lacking word decides, not the last. */
static bool first_decides(const struct blm_bits *bits, bool *lacks, size_t n, bool alone)
{
	bool won = false, decided = false;

	(void)lacks;
	for (size_t i = 0; i < n; i++) {
		bool mine = bits_set(bits[i].word, bits[i].mask, alone) != 0;

		if (!decided && mine)
			decided = won = true;
	}
	return won;
}

/* The last word decides, though it may have been complete before. */
static bool last_word_decides(const struct blm_bits *bits, bool *lacks, size_t n, bool alone)
{
	bool won = false;

	(void)lacks;
	for (size_t i = 0; i < n; i++)
		won = bits_set(bits[i].word, bits[i].mask, alone) != 0;
	return won;
}

START_TEST(a_process_that_trusts_any_own_change_is_detected)
{
	struct model m = { .claim = changed_any, .processes = 2, .words = 2, .mask = 1 };

	ck_assert_uint_eq(explore(m).most_new, 2);
	m.claim = first_decides;
	ck_assert_uint_eq(explore(m).most_new, 2);
	m.claim = last_word_decides;
	ck_assert_uint_eq(explore(m).fewest_new, 0);
}
END_TEST

/* ---- The same code on real processors ---- */

enum { THREADS = 2, WIDTH = 4 };

static struct {
	uint64_t words[WIDTH];
	unsigned arrived, won;
} *rounds;
static unsigned round_count;

static void *claim_all_rounds(void *context)
{
	uint64_t state = (uintptr_t)context;

	for (unsigned r = 0; r < round_count; r++) {
		struct blm_bits bits[WIDTH];
		bool lacks[WIDTH];
		size_t width = 2 + r % (WIDTH - 1);

		for (size_t i = 0; i < width; i++)
			bits[i] = (struct blm_bits){ .word = &rounds[r].words[i],
						     .mask = UINT64_C(0x8000000000000001)
							  << i % 3 };
		__atomic_fetch_add(&rounds[r].arrived, 1, __ATOMIC_ACQ_REL);
		for (unsigned spin = 1;
		     __atomic_load_n(&rounds[r].arrived, __ATOMIC_ACQUIRE) < THREADS; spin++)
			if (spin % 1000 == 0)
				sched_yield();
		for (uint64_t wait = next_random(&state) % 64; wait > 0; wait--)
			__asm__ volatile("");
		if (protocols[r % 2](bits, lacks, width, false))
			__atomic_fetch_add(&rounds[r].won, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

START_TEST(one_of_two_racing_threads_wins_each_of_many_keys)
{
	pthread_t thread[THREADS];

	round_count = (unsigned)(1e6 * test_scale());
	rounds = calloc(round_count, sizeof(*rounds));
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&thread[i], NULL, claim_all_rounds, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned r = 0; r < round_count; r++)
		ck_assert_msg(rounds[r].won == 1, "round %u: %u won", r, rounds[r].won);
	free(rounds);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("claim");
	TCase *tc = tcase_create("interleavings"), *threads = tcase_create("threads");

	tcase_add_loop_test(tc, one_of_all_claimers_of_a_key_wins_it, 0, PROTOCOLS * SIZES);
	tcase_add_loop_test(tc, deaths_at_any_step_allow_at_most_one_winner, 0,
			    PROTOCOLS * SIZES);
	tcase_add_loop_test(tc, other_keys_bits_at_any_step_allow_one_winner,
			    0, PROTOCOLS * SIZES_FOR_STRANGERS);
	tcase_add_loop_test(tc, deaths_and_other_keys_allow_at_most_one_winner, 0,
			    PROTOCOLS * SIZES_FOR_ALL);
	tcase_add_loop_test(tc, claimers_in_two_orders_are_never_both_first, 0, SIZES);
	tcase_add_test(tc, a_process_that_trusts_any_own_change_is_detected);
	tcase_add_test(threads, one_of_two_racing_threads_wins_each_of_many_keys);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
