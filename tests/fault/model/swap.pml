/*
 * swap.pml - replacing, or dropping, a file under those who add to it, claim in it and read it, as lib/ does it; with kill -9 at each step
 *
 * Two places at which a file can lie (-DPLACES=3: three); the name leads to one of them. In each file a bit for each adder's key, one for
 * the key that two claim, and the state word with the states of enum blm_state (lib/file/layout.h). Two replacers, the second of which has
 * something to do where the first died or failed, or where there are three places; or one and a dropper. Everybody but the reader, who
 * holds nothing and changes nothing, may die after each step that others can see: a death before the first step, or between two that nobody
 * sees, is as one of these. The locks of the dead are free, as those of the kernel are (F_OFD_SETLKW, lib/file/ofd_lock.c). What replacers and
 * droppers do may fail: the flush of the state, the new file, the commit or the rename, and the flush of the folder after it. All memory is
 * as weak as the algorithm allows for: the store of an adder's bit is held back in a buffer of its process until that process's full
 * fence, or until anybody's whim, also after its death.
 *
 * Where the names of functions stand, they are those of lib/, and the steps under them theirs. Left out: threads of one process (the
 * mutexes in struct blm_lock), slots (lib/file/presence.h), which tests/schedule explores, BLM_LOCK_SYNC (whoever holds it waits for nobody; it is taken under BLM_LOCK_REPLACE, never the other way
 * round), filters that grow, power cuts (fault/cut.c). A lister of false positives (lib/handle/allowlist.c) is a replacer that goes back to LIVE.
 *
 * Who is there: an adder, two replacers and a reader; with -DADDERS a second adder, no reader; with -DCLAIMERS an adder and two claimers,
 * no reader; with -DDROP the second replacer drops. All at once would take minutes. -DPATH: a file with a path, whose new one has no
 * state UNNAMED, and where a failure may come after the one step. -DGATE: with BLM_LOCK_GATE, too.
 *
 * Wrong ones, each of which must fail, or the model proves nothing:
 * -DNO_FENCE			the adder's fence is left out
 * -DNO_FENCE_REPLACING		that of the replacer, so that it copies before others see its state
 * -DLOOK_FIRST			the adder looks at the state before it sets the bit
 * -DNO_LOOK_UP			the adder that saw another state takes the replacer for dead, and does not look the name up
 * -DNO_LOOK_AFTER_FAILURE	(with -DPATH) the replacer that was told of a failure says LIVE, and does not look whether it came to pass
 * -DNO_LOCK			claimers go without the shared lock
 * -DNO_LOOK_IN_CLAIM		claimers have it, and do not look whether the name still leads to what they locked
 * -DNO_LOCK_OF_NEW		(with -DPLACES=3) a new file can be found before its maker says what it is, and its maker holds no lock of it
 * -DNO_COUNT			the state word has no count
 * -DLATE			who looks a name up asks whether the replacer is alive after that, not before
 * -DREPLACING_ONLY		(with -DDROP) asks that of replacers, but not of droppers
 * -DLOCKS_STAY			locks of the dead stay: somebody waits for ever, which is how the model says "blocked"
 */
#ifndef PLACES
#define PLACES 2
#endif
#define NOWHERE 3		/* where the name of what was dropped leads to */
#define NEVER 255		/* BLM_NEVER */

/* enum blm_state */
#define LIVE 0
#define REPLACING 1
#define REPLACED 2
#define DROPPED 3
#define UNNAMED 4
#define YIELDING 5

/* ---- What is shared ---- */

byte name;			/* which file the name leads to */
byte word[PLACES];		/* 8 * the number of changes + the state */
byte added[PLACES];		/* a bit for each adder's key */
bool claimed[PLACES];		/* the bit that is claimed */
byte sharing[PLACES];		/* how many hold BLM_LOCK_REPLACE shared */
byte locked[PLACES];		/* who holds it exclusively; 0: nobody */
#ifdef GATE
byte gate[PLACES];		/* who holds BLM_LOCK_GATE */
#endif

/* ---- What the processes were told ---- */

byte acknowledged;		/* adders whose add returned, as bits */
byte told_new, told_old;	/* claimers */
byte took;			/* claimers that died between their bit and the answer */
byte running;

/* ---- State words and locks: set_state(), is_current(), lib/file/ofd_lock.c ---- */

#define state_of(w) ((w) % 8)
#ifdef NO_COUNT
#define changed(w, to) (to)
#define NAMED LIVE
#else
#define changed(w, to) (8 * ((w) / 8 + 1) + to)
#define NAMED 8			/* BLM_STATE_NAMED */
#endif
#define set_state(file, to) word[file] = changed(word[file], to)

#ifdef GATE
#define ENTER(file) atomic { gate[file] == 0 -> gate[file] = _pid }; MAY_DIE;
#define PASS(file) ; gate[file] = 0
#define FIND_OPEN(file) gate[file] == 0;
#else
#define ENTER(file)
#define FIND_OPEN(file)
#define PASS(file)
#endif

#define lock_exclusive(file) \
	ENTER(file) atomic { locked[file] == 0 && sharing[file] == 0 -> locked[file] = _pid } PASS(file)
#define unlock_exclusive(file) locked[file] = 0
#define lock_shared(file) \
	FIND_OPEN(file) atomic { locked[file] == 0 -> sharing[file]++; shares = file }
#if !defined(PATH) && !defined(NO_LOCK_OF_NEW)
#define LET_GO_OF_NEW sharing[to]--; shares = NEVER
#else
#define LET_GO_OF_NEW skip
#endif
#define unlock_shared(file) atomic { sharing[file]--; shares = NEVER }

#define MAY_DIE if :: true :: true -> goto killed fi

/* The end of everybody: what the dead held is free. Who was not killed holds nothing any more. */
inline end_of_process()
{
	atomic {
#ifndef LOCKS_STAY
		if :: locked[0] == _pid -> locked[0] = 0 :: else fi;
		if :: locked[1] == _pid -> locked[1] = 0 :: else fi;
#if PLACES == 3
		if :: locked[2] == _pid -> locked[2] = 0 :: else fi;
#endif
		if :: shares != NEVER -> sharing[shares]--; shares = NEVER :: else fi;
#ifdef GATE
		if :: gate[0] == _pid -> gate[0] = 0 :: else fi;
		if :: gate[1] == _pid -> gate[1] = 0 :: else fi;
#if PLACES == 3
		if :: gate[2] == _pid -> gate[2] = 0 :: else fi;
#endif
#endif
#endif
		file = 0;		/* so that states do not differ in what means nothing */
		running--
	}
}

/* ---- Looking a name up: lib/view/view.c ---- */

#ifdef REPLACING_ONLY
#define may_be_under_way(w) (state_of(w) == REPLACING || state_of(w) == YIELDING)
#else
#define may_be_under_way(w) (state_of(w) != LIVE)
#endif

/* look_again(): is the file that was opened still the filter? lost: the name leads elsewhere. */
inline look_again()
{
	lost = false;
	now = word[file];
	if
	:: now != seen ->
#ifndef LATE
		alive = may_be_under_way(now) && locked[file] != 0;
#endif
		lost = name != file;
#ifdef LATE
		alive = may_be_under_way(now) && locked[file] != 0;
#endif
		if
		:: !lost && !alive -> seen = now
		:: else			/* look again at the next call */
		fi
	:: else
	fi
}

/* ---- Adders: blm_add_many(), in lib/keys/change.c and lib/handle/write.c ---- */

#ifdef ADDERS
#define ADDERS_MOST 2
#else
#define ADDERS_MOST 1
#endif

bool held_back[ADDERS_MOST];	/* its store is not visible yet */
byte held_file[ADDERS_MOST];

/* The buffers let the stores go whenever they like. */
active proctype buffers()
{
end:	do
	:: atomic { held_back[0] -> added[held_file[0]] = added[held_file[0]] | 1; held_back[0] = false; held_file[0] = 0 }
#ifdef ADDERS
	:: atomic { held_back[1] -> added[held_file[1]] = added[held_file[1]] | 2; held_back[1] = false; held_file[1] = 0 }
#endif
	od
}

proctype adder(byte me)
{
	byte file, now, shares = NEVER;
	bool lost = false;

	do
	:: file = name;						/* blm_change_begin(): the view of some moment */
		if :: file == NOWHERE -> goto killed :: else fi;	/* -ESTALE: it was told so */
#ifdef LOOK_FIRST
		now = word[file];
#endif
		d_step { held_file[me] = file; held_back[me] = true };
		MAY_DIE;
#ifndef NO_FENCE
		!held_back[me];					/* blm_change_end(): full_fence() */
#endif
#ifndef LOOK_FIRST
		now = word[file];
#endif
		if :: state_of(now) == LIVE -> break :: else fi;
		lock_exclusive(file);				/* confirm_current(); so does settle_state() of who opens to write */
		atomic {
			!held_back[me];				/* fcntl() is a fence */
#ifndef NO_LOOK_UP
			lost = name != file;
#endif
			MAY_DIE
		};
		atomic {
			if
			:: !lost && state_of(word[file]) != LIVE -> set_state(file, LIVE)
			:: else
			fi;
			MAY_DIE
		};
		atomic { unlock_exclusive(file); if :: !lost -> break :: else fi }
	od;
	acknowledged = acknowledged | (1 << me);
killed:	end_of_process()
}

/* ---- Claimers: blm_claim_many(), in lib/keys/change.c and lib/handle/write.c ---- */

proctype claimer()
{
	byte file, shares = NEVER;
	bool new;

	do							/* blm_change_begin_held() */
	:: file = name;
#ifdef NO_LOCK
		break
#else
		lock_shared(file);
#ifdef NO_LOOK_IN_CLAIM
		break;
#endif
		MAY_DIE;
		if :: name == file -> break :: else fi;		/* look_up(); where is_current() it is so, too */
		unlock_shared(file)
#endif
	od;
	atomic { new = !claimed[file]; claimed[file] = true; took = took + new; MAY_DIE };	/* fetch_or: one step, and a fence */
	atomic { took = took - new; told_new = told_new + new; told_old = told_old + !new };
#ifndef NO_LOCK
	unlock_shared(file);					/* blm_change_end_held() */
#endif
killed:	end_of_process()
}

/* ---- A reader: blm_contains_many(), in lib/keys/keys.c and lib/view/view.c ---- */

proctype reader()
{
	byte file, seen = word[0], now, must;
	bool lost, alive, gone;

	do
	:: break
	:: atomic { must = acknowledged; gone = name == NOWHERE };		/* before the question begins */
		look_again();						/* current_view() */
		if
		:: lost && (name == NOWHERE || state_of(now) == DROPPED) -> break	/* -ESTALE */
		:: lost && name != NOWHERE ->				/* blm_view_open(): open_live() of who reads */
			do
			:: file = name;
				if :: file == NOWHERE -> break :: else fi;
				seen = word[file];
				if
				:: state_of(seen) == LIVE -> break
				:: else -> seen = NEVER; if :: name == file -> break :: else fi
				fi
			od;
			if :: file == NOWHERE -> break :: else fi
		:: else
		fi;
		assert((added[file] & must) == must);
		assert(!gone)		/* else it asks what was dropped, for ever */
	od;
	running--
}

/* ---- Replacing and dropping: lib/make/replace.c, lib/store/drop.c, lib/place/store_dir.c; may_fail: at this point it is told of a failure ---- */

/* blm_filter_open() and blm_lock_current(). Where the name leads elsewhere the state says so: -ESTALE never comes of a replacement. */
inline open_and_lock()
{
	do
	:: file = name;
		if :: file == NOWHERE -> goto killed :: else fi;
		lock_exclusive(file);
		MAY_DIE;
		if :: name == file -> break :: else fi;
		assert(state_of(word[file]) != LIVE);
		unlock_exclusive(file)
	od
}

#define COPY added[to] = added[file]; claimed[to] = claimed[file]

proctype replacer(byte to)
{
	byte file, shares = NEVER;
	bool failed;

	open_and_lock();
#if PLACES == 2
	if :: file == to -> goto killed :: else fi;
#endif
#ifdef NO_FENCE_REPLACING
	atomic { COPY; MAY_DIE };
	atomic { set_state(file, REPLACING); MAY_DIE };
	atomic {
#else
	atomic { set_state(file, REPLACING); MAY_DIE };	/* replace(), and a full fence */
	atomic {
		COPY;			/* make_and_put(): fill(), into a file that nobody knows of yet */
#endif
#ifdef PATH
		word[to] = LIVE;
#else
		word[to] = UNNAMED;	/* blm_store_put() */
#ifndef NO_LOCK_OF_NEW
		sharing[to]++; shares = to;
#endif
#endif
		set_state(file, YIELDING);	/* put(): blm_announce() */
		if
		:: true -> failed = true	/* the flush, the new file, the commit or the rename */
		:: true
		fi;
		MAY_DIE
	};
	if
	:: failed -> atomic { LET_GO_OF_NEW; set_state(file, LIVE); MAY_DIE }
	:: else ->
		atomic { name = to; MAY_DIE };	/* the one step: blm_catalog_replace(), renameat() */
#ifdef PATH
		if :: true -> failed = true :: true fi;	/* blm_new_file_name(): that of fsync() of the folder */
#else
		atomic { word[to] = NAMED; MAY_DIE };	/* say_named() */
		atomic { LET_GO_OF_NEW };
#endif
		atomic {
			if			/* was_replaced() */
#ifdef NO_LOOK_AFTER_FAILURE
			:: failed -> set_state(file, LIVE)
#else
			:: failed && name == file -> set_state(file, LIVE)
#endif
			:: else -> set_state(file, REPLACED)
			fi;
			MAY_DIE
		}
	fi;
killed:	end_of_process()
}

proctype dropper()
{
	byte file, shares = NEVER;

	open_and_lock();
	atomic { set_state(file, DROPPED); MAY_DIE };	/* drop(): blm_announce() */
	atomic {
		if
		:: true -> set_state(file, LIVE)	/* the flush or the commit failed */
		:: name = NOWHERE		/* the one step: blm_catalog_drop() */
		fi;
		MAY_DIE
	};
killed:	end_of_process()
}

init
{
	atomic {
		run adder(0);
		run replacer(1);
		running = 3;
#ifdef DROP
		run dropper();
#else
		run replacer(PLACES - 1);
#endif
#ifdef ADDERS
		running++; run adder(1);
#endif
#ifdef CLAIMERS
		running = running + 2; run claimer(); run claimer();
#endif
#ifndef ADDERS
#ifndef CLAIMERS
		running++; run reader();
#endif
#endif
	}
	running == 0 && !held_back[0];	/* nobody is blocked for ever: else this is an invalid end */
#ifdef ADDERS
	!held_back[1];
#endif
#ifdef DROP
	assert(name == NOWHERE || (added[name] & acknowledged) == acknowledged);
#else
	assert(name != NOWHERE && (added[name] & acknowledged) == acknowledged);
#endif
#ifdef CLAIMERS
	assert(told_new + told_old == 0 || (told_new + took == 1 && claimed[name]));
	assert(told_new + took <= 1)
#endif
}
