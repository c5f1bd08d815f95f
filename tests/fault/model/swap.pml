/*
 * swap.pml - replacing, or dropping, a file under those who add to it, claim in it and read it, as lib/replace.c and lib/drop.c do it
 *
 * Two places at which a file can lie, OLD and NEW; the name leads to one of them. In each file one bit for the adder's key, one
 * for the key that two claim, and the state. Replacer after replacer may die between any two steps; the second one comes
 * after it, so that there is a successor. All memory is as weak as the algorithm allows for: the store of a bit is held
 * back in a buffer of its process until that process's full fence, or until anybody's whim.
 *
 * An adder and a reader; with -DDROP the second replacer drops; with -DCLAIMERS an adder and two claimers. All at once would
 * take minutes.
 *
 * -DNO_FENCE leaves out the adder's fence, -DLOOK_FIRST looks at the state before the bit is set, -DNO_LOCK lets the claimers
 * go without the shared lock, -DNO_COUNT takes the count out of the state word, -DLATE lets the reader ask whether the replacer is
 * alive after it looked the name up, not before, -DREPLACING_ONLY (with -DDROP) lets it ask that of replacers but
 * not of droppers: each must fail, or the model proves nothing.
 */
#define OLD 0
#define NEW 1
#define NOWHERE 2		/* it was dropped */
#define LIVE 0
#define REPLACING 1
#define REPLACED 2
#define DROPPED 3

/* ---- What is shared ---- */

byte name = OLD;		/* which file the name leads to */
byte state[2] = LIVE;		/* 4 * the number of changes + one of the four */
bool added[2];			/* the adder's bit */
bool claimed[2];		/* the bit that is claimed */
byte sharing[2];		/* holders of BLM_LOCK_REPLACE: shared, exclusive */
bool locked[2];

/* ---- What the processes were told ---- */

bool acknowledged;
byte told_new;
byte adding = 1, claiming, replacing = 2;

/* A dead process's locks are free: `die` gives them back in the step in which it dies. */
#ifdef NO_COUNT
#define CHANGED(word, to) (to)
#else
#define CHANGED(word, to) (4 * (word / 4 + 1) + to)
#endif

inline lock_exclusive(file)
{
	atomic { !locked[file] && sharing[file] == 0 -> locked[file] = true }
}

/* ---- The adder: blm_add_many(), blm_change_end(), settle() ---- */

bool held_back;			/* its store is not visible yet */
byte held_file;

/* The buffer lets the store go whenever it likes. */
active proctype buffer()
{
end:	do
	:: atomic { held_back -> added[held_file] = true; held_back = false }
	od
}

proctype adder()
{
	byte file, seen;

	file = name;
again:
	if :: file == NOWHERE -> adding--; goto stale :: else -> skip fi;
#ifdef LOOK_FIRST
	seen = state[file];
#endif
	atomic { held_file = file; held_back = true }
#ifndef NO_FENCE
	!held_back;			/* full_fence() */
#endif
#ifndef LOOK_FIRST
	seen = state[file];
#endif
	if
	:: seen % 4 == LIVE -> skip
	:: else ->		/* settle() */
		lock_exclusive(file);
		if
		:: name == file ->
			state[file] = CHANGED(state[file], LIVE);
			locked[file] = false
		:: else ->
			locked[file] = false;
			!held_back;	/* fcntl() is a fence */
			file = name;
			goto again
		fi
	fi;
	acknowledged = true;
	adding--;
stale:	skip			/* it was told so */
}

/* ---- A claimer: blm_change_begin_held(), blm_claim_many() ---- */

proctype claimer()
{
	byte file;

again:
	file = name;
#ifndef NO_LOCK
	atomic { !locked[file] -> sharing[file]++ };
	if
	:: name != file -> sharing[file]--; goto again
	:: else -> skip
	fi;
#endif
	if				/* fetch_or: a fence, and one step */
	:: atomic { !claimed[file] -> claimed[file] = true; told_new++ }
	:: atomic { claimed[file] -> skip }
	fi;
#ifndef NO_LOCK
	sharing[file]--;
#endif
	claiming--
}

/* ---- A reader: current_view(), look_again() ---- */

#ifdef REPLACING_ONLY
#define MAY_BE_UNDER_WAY(word) (word % 4 == REPLACING)
#else
#define MAY_BE_UNDER_WAY(word) (word % 4 != LIVE)
#endif

proctype reader()
{
	byte view = OLD, seen = LIVE, now;
	bool answer, must, gone, alive, same;

	do
	:: break
	:: must = acknowledged;		/* before the question begins */
		gone = name == NOWHERE;
		now = state[view];
		if
		:: now != seen ->
#ifndef LATE
			alive = MAY_BE_UNDER_WAY(now) && locked[view];
#endif
			same = name == view;
#ifdef LATE
			alive = MAY_BE_UNDER_WAY(now) && locked[view];
#endif
			if
			:: !same && name == NOWHERE -> break
			:: !same && name != NOWHERE ->
				view = NEW;		/* open_live() */
				seen = state[NEW];
				if :: MAY_BE_UNDER_WAY(seen) -> seen = 255 :: else -> skip fi
			:: same && !alive -> seen = now
			:: else -> skip		/* look again at the next call */
			fi
		:: else -> skip
		fi;
		answer = added[view];
		assert(!must || answer);
		assert(!gone)		/* else it asks what was dropped, for ever */
	od
}

/* ---- Replacers, one after the other: lib/replace.c, replace(); each may die ---- */

/* A death before its first step, or after its last, or between two that nobody sees, is as one of these. */

#define OR_DIE(lock) :: atomic { true -> locked[lock] = false; replacing--; goto dead }

proctype replacer()
{
	byte old;
	bool bit_of_add, bit_of_claim;

	old = name;
	if :: old == NOWHERE -> replacing--; goto dead :: else -> skip fi;
	lock_exclusive(old);
	if				/* lock_current(): it was replaced while we waited; and there are only two places here */
	:: name != old || old == NEW -> atomic { locked[old] = false; replacing--; goto dead }
	:: else -> skip
	fi;
	state[old] = CHANGED(state[old], REPLACING);	/* and a full fence */
	if :: skip OR_DIE(old) fi;
	bit_of_add = added[old];
	bit_of_claim = claimed[old];
	d_step { added[NEW] = bit_of_add; claimed[NEW] = bit_of_claim };	/* nobody knows of it yet */
	name = NEW;			/* the one step */
	if :: skip OR_DIE(old) fi;
	state[old] = CHANGED(state[old], REPLACED);
	locked[old] = false;
	replacing--;
dead:	skip
}

proctype dropper()
{
	byte old;

	old = name;
	lock_exclusive(old);
	if
	:: name != old -> atomic { locked[old] = false; replacing--; goto dead }
	:: else -> skip
	fi;
	state[old] = CHANGED(state[old], DROPPED);
	if :: skip OR_DIE(old) fi;
	name = NOWHERE;
	locked[old] = false;
	replacing--;
dead:	skip
}

init
{
#ifdef CLAIMERS
	claiming = 2;
	atomic { run adder(); run claimer(); run claimer(); run replacer(); run replacer() }
#else
	atomic { run adder(); run reader(); run replacer();
#ifdef DROP
		run dropper()
#else
		run replacer()
#endif
	}
#endif
	adding == 0 && claiming == 0 && replacing == 0 && !held_back;	/* nobody is blocked for ever: else this is an invalid end */
#ifdef DROP
	assert(name == NOWHERE || (acknowledged && added[name]));
#else
	assert(acknowledged && added[name]);
#endif
#ifdef CLAIMERS
	assert(told_new == 1 && claimed[name])
#endif
}
