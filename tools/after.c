/* after.c - a filter made after another one */
#include "after.h"
#include "progress.h"

/*
 * A store is opened once. It must be writable if the result goes into it, and it must be there if a
 * source is in it.
 */
unsigned source_flags(const char *to)
{
	return is_path(to) ? BLM_STORE_READ : 0;
}

int after(const char *from, const char *to, unsigned mode,
	  int (*make)(struct blm_filter **, struct blm_store *, const char *,
		      const struct blm_filter *, unsigned))
{
	struct blm_filter *f, *made;
	struct place place;
	int code = open_filter(&f, from, false, source_flags(to)), r;

	if (code != DONE)
		return code;
	code = find_place(&place, to, BLM_STORE_CREATE);
	if (code == DONE) {
		progress_of_calls();
		r = make(&made, place.store, place.name, f, mode);
		progress_end_of_call(r);
		if (r < 0)
			code = fail(r);
		else
			blm_close(made);
	}
	blm_close(f);
	return code;
}
