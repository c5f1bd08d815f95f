/*
 * union.c - bloomery-mpi union: the OR of many filters, a chunk at a time
 *
 * Rank r reads filters r, r + ranks, and so on. MPI_Reduce brings the OR of a chunk to rank 0, so
 * a rank takes two chunks of memory, and rank 0 the data of the new filter.
 */
#include "jobs.h"
#include "place.h"
#include "values.h"

enum { CHUNK = 8 << 20 };

static const char *output;
static const struct opt own_options[] = {
	{ 'o', "output", "C", "the new filter", set_text, &output },
	{ 0 }
};

struct set {
	struct blm_filter **of;		/* those of this rank */
	int count;
	struct blm_info info;
};

static bool has_bits(const struct blm_info *info)
{
	return info->cell_bits == 1 && info->can & BLM_CAN_UNION && info->parts == 1;
}

static void tell(void *context, const struct blm_finding *found)
{
	(void)context;
	say("%s: %s", found->file, found->what);
}

/* Bits that damage took away are keys that the new filter would deny, and nothing shows it. */
static void must_be_whole(const char *name)
{
	struct place place;
	int wrong;

	must(find_place(&place, name, 0));
	wrong = blm_verify(place.store, place.name, 0, tell, NULL);
	must_have(wrong);
	if (wrong)
		give_up(broken("%s: is damaged, and what is made of it would deny keys; repair it "
			       "with 'bloomery verify --repair'", name));
}

/* Rank 0 has the first filter, so its template is that of all. */
static void open_set(struct set *ret, int count, char **names)
{
	uint8_t template[16];

	*ret = (struct set){ .info = BLM_INFO };
	ret->of = must_alloc((size_t)count / (size_t)ranks + 1, sizeof(struct blm_filter *));
	for (int i = rank; i < count; i += ranks) {
		must_be_whole(names[i]);
		must(open_filter(&ret->of[ret->count], names[i], false, 0));
		ret->count++;
	}
	if (!rank)
		must_have(blm_info(ret->of[0], &ret->info));
	from_first(&ret->info, sizeof(ret->info));
	memcpy(template, ret->info.template_id, sizeof(template));
	if (!has_bits(&ret->info))
		all_give_up(broken("%s: the cells of a %s filter are not bits that an OR unites; "
				   "see 'bloomery union'", names[0], ret->info.kind));
	for (int i = 0; i < ret->count; i++) {
		struct blm_info info = BLM_INFO;

		must_have(blm_info(ret->of[i], &info));
		if (info.split_parts)
			give_up(broken("%s: part %llu of %llu of a filter, which lacks the keys of "
				       "the other parts; 'bloomery join' makes one filter of all "
				       "parts", names[rank + i * ranks],
				       (unsigned long long)info.split_part + 1,
				       (unsigned long long)info.split_parts));
		if (memcmp(info.template_id, template, sizeof(template)))
			give_up(broken("%s: it does not have the template of %s: kind, size, hash, "
				       "seeds or secret differ", names[rank + i * ranks],
				       names[0]));
	}
}

static void or_into(uint64_t *to, const uint64_t *from, size_t words)
{
	for (size_t i = 0; i < words; i++)
		to[i] |= from[i];
}

static void unite(const struct set *set, struct blm_filter *into)
{
	uint64_t *mine = must_alloc(CHUNK, 1), *buffer = must_alloc(CHUNK, 1);

	for (uint64_t at = 0; at < set->info.data_bytes; at += CHUNK) {
		uint64_t left = set->info.data_bytes - at;
		size_t here = left < CHUNK ? (size_t)left : CHUNK;

		memset(mine, 0, here);
		for (int i = 0; i < set->count; i++) {
			must_have(blm_data_read(set->of[i], at, buffer, here));
			or_into(mine, buffer, here / 8);
		}
		MPI_Reduce(mine, buffer, (int)(here / 8), MPI_UINT64_T, MPI_BOR, 0, MPI_COMM_WORLD);
		if (!rank)
			must_have(blm_data_unite(into, at, buffer, here));
	}
	free(mine);
	free(buffer);
}

/* In memory first, so that the file appears whole. */
static int run(int count, char **operands)
{
	struct blm_filter *whole = NULL, *made;
	struct place place;
	struct set set;

	if (!output)
		return misuse("union: give -o C, the new filter");
	speak();
	open_set(&set, count, operands);
	if (!rank) {
		must(find_place(&place, output, BLM_STORE_CREATE));
		must_have(blm_template(&whole, NULL, NULL, set.of[0], 0));
	}
	unite(&set, whole);
	if (!rank) {
		must_have(blm_copy(&made, place.store, place.name, whole, 0));
		blm_close(made);
		blm_close(whole);
	}
	for (int i = 0; i < set.count; i++)
		blm_close(set.of[i]);
	free(set.of);
	return DONE;
}

static const struct opt *const options[] = { own_options, quiet_option, key_option, store_option,
					     NULL };

const struct command cmd_union = {
	.name = "union",
	.group = ON_SETS,
	.summary = "the OR of many filters, as a new filter",
	.operands = "A B...",
	.least = 1, .most = -1,
	.notes = "Each rank reads some of the filters. All have one template, and their cells are "
	"bits.",
	.example = "mpirun -n 8 bloomery-mpi union -o ./all ./day-*.blm",
	.options = options,
	.run = run,
};
