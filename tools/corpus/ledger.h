/*
 * ledger.h - which units of a file are kept, decided once, whatever process is killed
 *
 * Processes that share a filter decide one after the other, under a lock. Three files take part:
 *
 *	the filter
 *	FILTER.claims	the intent: the hashes that are being added now, the filter, and the path
 *			and mark of the journal that they belong to. It is next to the filter, for
 *			all processes; in a store it is STORE/claims/UUID.blm. Its lock makes
 *			decisions exclusive.
 *	.NAME.claims	the journal: for each unit of the input NAME, in the order of the input,
 *			how many of its keys were seen. It is next to the output. Its lock says
 *			which process does NAME.
 *
 * The shared words, all written under the intent's lock:
 *
 *	intent.busy	1 while a process may have an unfinished decision
 *	journal.commit	twice the number of decided units, plus 1 while the intent's hashes are
 *			not all in the filter
 *	journal.synced	a number of units whose answers are on the disk, at most those decided
 *
 * A decision, which is made for all units of a batch:
 *	1. Take the lock. If `busy` is 1, its holder died: if the journal that the intent names has
 *	   an odd `commit`, do 6 and 7 with the hashes of the intent, and make `commit` even.
 *	2. Write the journal's path and its checksum to the intent. busy := 1.
 *	3. Ask the filter.
 *	4. Append the answers to the journal, behind the units that `commit` counts. Write the
 *	   hashes of the units that are kept, and their checksum, to the intent.
 *	5. commit := 2 * (units + new units) + 1. The decision holds from here on.
 *	6. fdatasync() of the journal. synced := units + new units.
 *	7. Add the hashes to the filter.
 *	8. commit := commit - 1. Then busy := 0, and give back the lock.
 *
 * Why exactly one copy is kept: between 3 and 8 no other process decides. A process that dies
 * before 5 has decided nothing: no hash of these units is in the filter, and no output has them. A
 * process that dies after 5 has decided, and step 1 of the next process completes the decision
 * before that process asks. The process that does the file again takes the first commit / 2 answers
 * from the journal and asks the filter for none of these units, so a document is never compared
 * with itself.
 *
 * A power cut leaves any mix of old and new sectors of each file. The journal keeps an answer as
 * 1 + the number, and its bytes are 0 before, so that an answer that did not reach the disk is 0.
 * The head of a journal, and its name, are on the disk before its first decision.
 * After another boot:
 *	- The decided units are the first commit / 2, at most up to the first 0. Step 6 came before
 *	  step 7, so these are at least all units that have a hash in the filter: no document is
 *	  compared with itself. The intent says nothing any more.
 *	- The filter can lack hashes of decided units. So the journal of a finished output stays
 *	  until the filter is synced, and each run begins with journal_open() of all journals: where
 *	  `other_boot` is true, it reads the input again, adds the hashes of the kept units
 *	  (ledger_add()), and calls journal_restored().
 *	- Answers behind commit / 2 are of a process that died before 5. They are overwritten with 0
 *	  before the next decision, so that no later `commit` counts them.
 *
 * Damage is refused, because nothing says then which documents are in the filter and in no output:
 *	- Each answer, `commit` and `synced` have checksums (record.h). So has the intent, for its
 *	  head and for its hashes.
 *	- An answer of the first `synced` units that is 0 is damage, also after another boot.
 *	- So is a journal that has answers and no head.
 *	- A file without bytes is a journal that is not begun, for a process can die before it
 *	  writes the head. So one that was emptied is not noticed.
 *	- A damaged boot is another boot: the keys are added again.
 */
#ifndef BLOOMERY_CORPUS_LEDGER_H
#define BLOOMERY_CORPUS_LEDGER_H

#include "../command.h"
#include "mapped.h"

struct ledger {
	struct blm_filter *f;
	uint64_t hash_id;
	uint8_t uuid[16];
	bool can_claim;		/* a claim finds what a question finds, and adds the rest */
	struct mapped intent;
};

struct journal {
	struct mapped file;
	uint64_t units;		/* that are decided */
	bool other_boot;	/* its answers are from before the machine started */
	bool fresh;		/* no decision of it is on the disk */
};

enum { MARK = 32 };

/* Return: an exit code, with a message where it is not DONE; for all of these. */
int ledger_open(struct ledger *ret, struct blm_filter *f);
void ledger_close(struct ledger *ledger);

/*
 * journal_open() - take a file for this process
 * @path: absolute
 * @mark: of what the decisions depend on: options, input, filter
 * @wait: while another process has it; else *ret_busy says so
 */
int journal_open(struct journal *ret, struct ledger *ledger, const char *path,
		 const uint8_t mark[MARK], bool wait, bool *ret_busy);
void journal_close(struct journal *journal, bool done);	/* done: it is not needed any more */
/* Is there a journal from before the machine started? */
bool journal_is_old(const char *path);
/* The filter has the hashes of all units that it knows as kept. */
int journal_restored(struct journal *journal);
/* Deletes the journal of an output that is finished, unless another process has it. */
void journal_delete(const char *path);
/* The answer of a unit that is decided. */
uint32_t journal_seen(const struct journal *journal, uint64_t unit);

/*
 * Decisions are made between these. @journal: NULL: of no output that outlives the process. Such a
 * decision may also be a claim of its keys in the filter.
 */
int ledger_begin(struct ledger *ledger, struct journal *journal);
int ledger_end(struct ledger *ledger, int code);	/* Return: the code */
/* Steps 4 to 8: of each unit how many of its keys were seen; the hashes of those that are kept. */
int ledger_commit(struct ledger *ledger, struct journal *journal, const uint32_t *seen,
		  size_t units, const struct blm_hash *hashes, size_t count);
/* Hashes of units that are decided. */
int ledger_add(struct ledger *ledger, const struct blm_hash *hashes, size_t count);

#endif
