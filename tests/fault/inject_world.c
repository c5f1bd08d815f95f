/* inject_world.c - what the calls of inject.c work on: filters, a store, other programs' files */
#include "inject.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where a new filter is made. */
const char *new_name(const struct world *w)
{
	return w->where == MEMORY ? NULL : "new";
}

void key_of(int i, char ret[16])
{
	snprintf(ret, 16, "key %d", i);
}

int add_keys(struct blm_filter *f, int from, int to)
{
	char text[300][16];
	struct blm_key keys[300];

	for (int i = from; i < to; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return (int)blm_add_many(f, keys + from, (size_t)(to - from), NULL);
}

int holds(const struct blm_filter *f, int from, int to)
{
	int n = 0;

	for (int i = from; i < to; i++) {
		char key[16];

		key_of(i, key);
		n += blm_contains(f, key, strlen(key));
	}
	return n;
}

int what_it_holds(const struct blm_filter *f)
{
	int first = holds(f, 0, COMMON), shared = holds(f, COMMON, KEYS),
	    second = holds(f, KEYS, 300), all = KEYS - COMMON;

	if (first + shared + second == 0)
		return EMPTY;
	if (first == all && shared == all)
		return second == 300 - KEYS ? BOTH : FIRST;
	if (shared == all)
		return second == 300 - KEYS ? SECOND : SHARED;
	return OTHER;
}

#define NAMED(bit, name) (what & (bit) ? name : "")
const char *words_for(int what)
{
	static char text[100];

	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", NAMED(GONE, " gone"), NAMED(EMPTY, " empty"),
		 NAMED(FIRST, " as a"), NAMED(SECOND, " as b"), NAMED(BOTH, " both"),
		 NAMED(SHARED, " shared"), NAMED(OTHER, " something else"));
	return text;
}

const struct blm_params small = BLM_PARAMS(.capacity = 600, .rate = 0.0001, .seed_count = 1,
					   .seeds = (const uint64_t[]){ 7 });

const struct blm_params keyed = BLM_PARAMS(.capacity = 600, .rate = 0.0001, .hash = "siphash",
					   .seed_count = 0,
					   .secret = (const uint8_t *)"sixteen bytes...", );

void make_filter(struct blm_store *store, const char *name, const struct blm_params *params,
		 int from, int to)
{
	struct blm_filter *f;

	FIXTURE(blm_create(&f, store, name, params));
	FIXTURE(add_keys(f, from, to - 20));
	FIXTURE(blm_sync(f));
	FIXTURE(add_keys(f, to - 20, to));	/* acknowledged, not synced */
	blm_close(f);
}

/* One block, stored as it is (RFC 1951, 1952). */
void pack_in_gzip(const char *from, const char *to)
{
	static uint8_t bytes[UINT16_MAX + 64] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1 };
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t n = read(in, bytes + 15, UINT16_MAX);
	const uint16_t lengths[2] = { htole16((uint16_t)n), htole16((uint16_t)~n) };
	uint32_t ends[2] = { UINT32_MAX, htole32((uint32_t)n) };

	for (ssize_t i = 0; i < n; i++) {
		ends[0] ^= bytes[15 + i];
		for (int bit = 0; bit < 8; bit++)
			ends[0] = ends[0] >> 1 ^ (ends[0] & 1 ? 0xedb88320 : 0);
	}
	ends[0] = htole32(~ends[0]);
	memcpy(bytes + 11, lengths, 4);
	memcpy(bytes + 15 + n, ends, 8);
	FIXTURE(n > 0 && write(out, bytes, (size_t)n + 23) == n + 23 ? 0 : -EIO);
	close(in);
	close(out);
}

/*
 * All that a case may find: filters at paths and in the store "s", another program's file, filters
 * as text.
 */
void make_fixture(void)
{
	static const struct blm_exchange foreign = BLM_EXCHANGE(.format = "pybloomfiltermmap"),
					 text = BLM_EXCHANGE(.base64 = true),
					 foreign_text = BLM_EXCHANGE(.format = "pybloomfiltermmap",
								     .base64 = true);
	struct blm_store *store;
	struct blm_filter *f;

	FIXTURE(blm_store_open(&store, "s", BLM_STORE_CREATE));
	for (int i = 0; i < 2; i++) {
		make_filter(i ? store : NULL, "a", &small, 0, KEYS);
		make_filter(i ? store : NULL, "b", &small, COMMON, 300);
		make_filter(i ? store : NULL, "keyed", &keyed, 0, KEYS);
	}
	FIXTURE(blm_store_label(store, "a", "of", "old"));
	FIXTURE(blm_create(&f, NULL, "c",
			   &BLM_PARAMS(.capacity = 600, .rate = 0.0001, .hash = "mm3-64",
				       .kind = "classic", .seed_count = 0, .probes = 7)));
	FIXTURE(add_keys(f, 0, KEYS));
	FIXTURE(blm_export_file(f, &foreign, "foreign"));
	FIXTURE(blm_export_file(f, &foreign_text, "foreign.text"));
	blm_close(f);
	FIXTURE(blm_open(&f, NULL, "a", 0));
	FIXTURE(blm_export_file(f, &text, "text"));
	FIXTURE(blm_export_file(f, NULL, "plain"));
	pack_in_gzip("plain", "gzip");
	blm_close(f);
	blm_store_close(store);
}

int ignore_bytes(void *context, const void *bytes, size_t count)
{
	return 0;
}

int count_one(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

/* The rest happens in a child, which has the handles from its parent. */
void fork_it(struct world *w)
{
	int status;
	pid_t pid = fork();

	FIXTURE(pid);
	if (pid == 0) {
		alarm(RUN_SECONDS);
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	_exit(WEXITSTATUS(status));
}
