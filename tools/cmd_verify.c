/* cmd_verify.c - bloomery verify: check a filter, or a whole store, and mend the catalog */
#include "apart.h"
#include "bank.h"
#include "json.h"
#include "output.h"
#include "place.h"
#include "progress.h"
#include "terms.h"
#include "values.h"

#include <signal.h>

static bool repair, here, distrust, found_any;
static const struct opt own_options[] = {
	{ 0, "repair", NULL, "repair damaged blocks, and the catalog of a whole store", set_flag,
	  &repair },
	/* how the program calls itself: */
	{ 0, "here", NULL, NULL, set_flag, &here },
	{ 0, "distrust-catalog", NULL, NULL, set_flag, &distrust },
	{ 0 }
};

static void show(void *context, const struct blm_finding *found)
{
	char text[4096];

	found_any = true;
	progress_hide();
	if (json) {
		json_begin();
		json_text("file", found->file);
		json_text("name", found->name);
		json_text("what", own_terms(found->what));
		json_bool("repaired", found->repaired);
		json_bool("lost", found->lost);
		json_end();
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s%s: %s%s", found->file, found->name ? " (" : "",
		 found->name ? found->name : "", found->name ? ")" : "",
		 own_terms(found->what),
		 found->repaired && !found->lost ? " (repaired)" : "");
	print_text(text);
	putchar('\n');
}

static int verify_bank(const char *path, int64_t *ret)
{
	struct blm_bank *bank;
	int code = open_bank(&bank, path);

	if (code == DONE)
		*ret = blm_bank_verify(bank, show, NULL);
	if (code == DONE)
		blm_bank_close(bank);
	return code;
}

/* No findings, so not on stdout: silence would mean that all is well. */
static void say_what_is_not_seen(const struct place *place)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	progress_end();
	if (quiet || blm_open(&f, place->store, place->name, 0) < 0)
		return;
	if (blm_info(f, &info) < 0)
		info.sealed = true, info.unchecked = false;	/* nothing is known of it */
	if (info.unchecked)
		say("%s: its data was not checked: in a filter of the kind %s damage is found only "
		    "if it is sealed", place->name, info.kind);
	else if (!info.sealed)
		say("%s: is not sealed, so bits that damage turned on cannot be found",
		    place->name);
	blm_close(f);
}

static int find_unsealed(void *context, const struct blm_info *info, int err)
{
	bool *any = context;

	*any = err == 0 && !info->sealed;
	return *any;
}

static int say_what_is_not_seen_in_store(void)
{
	struct blm_store *store;
	bool any = false;
	int code = find_store(&store, BLM_STORE_READ), r;

	if (code != DONE)
		return code;
	r = blm_store_list(store, NULL, find_unsealed, &any);
	if (r < 0)
		return fail(r);
	if (any)
		say("%s; in filters that are not sealed some damage cannot be seen, see "
		    "`bloomery help verify`", found_any ? "no other damage was found"
		    : "no damage was found");
	return DONE;
}

static int verify_one(const char *name, int64_t *ret)
{
	struct place place;
	int code;

	if (is_path(name) && is_bank(name))
		return verify_bank(name, ret);
	code = find_place(&place, name, repair ? 0 : BLM_STORE_READ);
	if (code == DONE)
		*ret = blm_verify(place.store, place.name, repair ? BLM_VERIFY_REPAIR : 0, show,
				  NULL);
	if (code == DONE && *ret >= 0)
		say_what_is_not_seen(&place);
	return code;
}

static int verify_store(const char *dir, int64_t *ret)
{
	*ret = blm_store_verify(dir, (repair ? BLM_VERIFY_REPAIR : 0)
				| (distrust ? BLM_VERIFY_DISTRUST : 0)
				| (takes_anyones() ? BLM_VERIFY_ANYONE : 0), show, NULL);
	return DONE;
}

/*
 * The catalog's pages are walked before LMDB changes anything. If LMDB crashes all the same, it
 * crashes in another process: then the damage is known, and a third process uses the filters' files
 * alone. Return: an exit code, or -1: do it here.
 */
static int verify_apart(const char *dir)
{
	const char *arguments[] = { "bloomery", "verify", "--here", "--store", dir, NULL, NULL,
				    NULL, NULL, NULL, NULL, NULL };
	int signal, code, at = 5;

	if (repair)
		arguments[at++] = "--repair";
	if (json)
		arguments[at++] = "--json";
	if (quiet)
		arguments[at++] = "--quiet";
	if (progress_wanted())
		arguments[at++] = "--progress";
	if (takes_anyones())
		arguments[at++] = "--anyone";
	code = run_apart(arguments, stdout, &signal);
	if (!signal)
		return code;
	if (signal != SIGSEGV && signal != SIGBUS && signal != SIGABRT && signal != SIGFPE
	    && signal != SIGILL)
		return broken("verify: ended by the signal %s", sigabbrev_np(signal));
	say("%s/catalog: reading it crashed (SIG%s): only the filters' files are checked", dir,
	    sigabbrev_np(signal));
	arguments[at] = "--distrust-catalog";
	code = run_apart(arguments, stdout, &signal);
	return signal ? broken("verify: crashed (SIG%s)", sigabbrev_np(signal)) : code;
}

static int run(int count, char **operands)
{
	const char *dir = count ? NULL : store_dir();
	int64_t wrong = 0;
	int code;

	if (!count && !dir)
		return FAILED;
	if (dir && !here) {
		code = verify_apart(dir);
		if (code >= 0)
			return code;
	}
	progress_of_calls();
	code = count ? verify_one(operands[0], &wrong) : verify_store(dir, &wrong);
	progress_end_of_call(code == DONE ? wrong : -1);
	if (code != DONE)
		return code;
	if (wrong < 0)
		return fail(wrong);
	if (!quiet && wrong)
		say("%lld %s wrong%s", (long long)wrong, wrong == 1 ? "thing is" : "things are",
		    repair ? "" : "; --repair mends what can be mended");
	if (wrong)
		return NO;
	return !count && !quiet && !distrust ? say_what_is_not_seen_in_store() : DONE;
}

static const struct opt *const options[] = { own_options, json_option, progress_option,
					     quiet_option, store_option, NULL };

const struct command cmd_verify = {
	.name = "verify",
	.group = ON_STORES,
	.summary = "check a filter, or the whole store; exit 1 if damage is found and remains",
	.operands = "[F]",
	.least = 0, .most = 1,
	.notes = "It prints one line for each finding. In kinds whose bits are only set it checks "
	"each block of 64 KiB that was synced. In the other kinds, damage to the data is found "
	"only in sealed filters; a note says that the data of an unsealed one was not checked. "
	"Bits that damage turned on are found only in a sealed filter. The repair sets all bits "
	"of a damaged block, so that no key is denied, and deletes only files that were surely "
	"replaced, dropped or never finished. If F is the path of a bank, it checks the bank's "
	"checksums, and whether its tables agree.",
	.example = "bloomery verify --repair",
	.options = options,
	.run = run,
};
