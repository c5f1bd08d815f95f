/* folder.c - the folder of a filter in parts: made whole, opened by the ranks, closed */
#include "folder.h"
#include "jobs.h"
#include "params.h"
#include "place.h"
#include "ranks_model.h"
#include "values.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_SECONDS = 30 };

/* As cmd_split.c names it: numbers from 1, all with as many digits. */
static const char *part_name(uint32_t i, uint32_t count)
{
	static char name[64];

	snprintf(name, sizeof(name), "keys.part-%0*u-of-%u", snprintf(NULL, 0, "%u", count), i + 1,
		 count);
	return name;
}

static const char *part_path(const char *folder, uint32_t i, uint32_t count)
{
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, part_name(i, count));
	return path;
}

bool is_folder(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

/* How many parts the files are of; 0, and FAILED where they are of several numbers. */
static int count_parts(const char *folder, uint32_t *ret)
{
	DIR *dir = opendir(folder);
	uint32_t i, n, count = 0;
	struct dirent *entry;

	if (!dir)
		return broken("%s: %s", folder, strerror(errno));
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "keys.part-%u-of-%u", &i, &n) != 2 || !i || i > n
		    || n > BLM_SPLIT_MAX || strcmp(part_name(i - 1, n), entry->d_name))
			continue;
		if (count && n != count) {
			closedir(dir);
			return broken("%s: has files of %u parts and files of %u parts; move the "
				      "wrong files away", folder, count, n);
		}
		count = n;
	}
	closedir(dir);
	*ret = count;
	return count ? DONE : broken("%s: has no file keys.part-I-of-N; 'bloomery-mpi claim "
				     "--create' makes such a folder", folder);
}

static int make_parts(const char *folder, uint32_t count)
{
	struct blm_params p = params;

	p.sparse = true;
	p.replace = false;
	for (uint32_t i = 0; i < count; i++) {
		struct blm_filter *f;
		int r;

		p.split_part = i;
		p.split_parts = count;
		r = blm_create(&f, NULL, part_path(folder, i, count), &p);
		if (r < 0)
			return fail(r);
		blm_close(f);
	}
	return DONE;
}

/* By rank 0, under another name, so that a folder with some of its parts never has the name. */
static int make_folder(const char *folder, uint32_t count)
{
	size_t length = strlen(folder);
	char fresh[PATH_MAX];
	int code;

	while (length && folder[length - 1] == '/')
		length--;
	if (length >= PATH_MAX - 64
	    || snprintf(fresh, sizeof(fresh), "%.*s.new-%d", (int)length, folder, (int)getpid())
	       >= PATH_MAX - 64)
		return broken("%s: the name is too long", folder);
	if (mkdir(fresh, 0777) < 0)
		return broken("%s: %s", fresh, strerror(errno));
	code = make_parts(fresh, count);
	if (code == DONE && rename(fresh, folder) < 0)
		code = broken("%s: %s", folder, strerror(errno));
	if (code != DONE) {
		for (uint32_t i = 0; i < count; i++)
			unlink(part_path(fresh, i, count));
		rmdir(fresh);
	}
	return code;
}

/* ---- Locks ---- */

/* The byte of the file `lock` that stands for the job, and those that stand for parts. */
enum { JOB_BYTE = 0, FIRST_PART_BYTE = 1 };

/* Return: DONE; NO: another process has it. */
static int try_lock(const struct folder *in, off_t byte)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte,
			       .l_len = 1 };

	if (fcntl(in->lock, F_OFD_SETLK, &range) == 0)
		return DONE;
	return errno == EAGAIN || errno == EACCES ? NO
		: broken("%s/lock: %s", in->path, strerror(errno));
}

/* The ranks of a job that was killed may take a moment to end, so a resumed job waits for them. */
static int lock_byte(const struct folder *in, off_t byte, const char *path, const char *holder)
{
	int code = try_lock(in, byte);

	if (code == NO)
		say("%s: is locked by %s; waiting up to %d seconds", path, holder, LOCK_SECONDS);
	for (int tries = 10 * LOCK_SECONDS; code == NO && tries; tries--) {
		usleep(100 * 1000);
		code = try_lock(in, byte);
	}
	return code != NO ? code : broken("%s: is locked by %s; wait until it ends, or end it",
					  path, holder);
}

static int open_lock(struct folder *in)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/lock", in->path);
	in->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
			0666);
	if (in->lock < 0 && errno == ELOOP)
		return broken("%s: is a symbolic link; delete it", path);
	return in->lock < 0 ? broken("%s: %s", path, strerror(errno)) : DONE;
}

/* Rank 0 alone speaks, unless the file with the secret is missing on another machine only. */
static void check_options(void)
{
	char unsaid[MESSAGE];
	int code, first;

	if (rank)
		hold_messages(unsaid);
	first = code = params_check();
	hold_messages(NULL);
	from_first(&first, sizeof(first));
	if (first != DONE)
		all_give_up(code);
	if (code == DONE)
		return;
	say("%s", unsaid);
	give_up(code);
}

static int make_by_options(struct folder *in, uint64_t parts)
{
	struct blm_info info;
	struct blm_filter *f;

	check_options();
	f = common_template(&info);
	in->count = parts ? (uint32_t)parts : (uint32_t)ranks;
	if (!has_owners(f))
		all_give_up(misuse("--kind %s: the bits of a key are all over such a filter, so no "
				   "rank owns them; take --kind %s", info.kind,
				   ranks_kinds(WAY_OWNERS)));
	blm_close(f);
	return rank ? DONE : make_folder(in->path, in->count);
}

static bool is_mine(uint32_t part)
{
	return (int)(part % (uint32_t)ranks) == rank;
}

static void open_part(struct folder *in, uint32_t i, unsigned flags)
{
	const char *path = part_path(in->path, i, in->count);
	struct blm_info info = BLM_INFO;
	const uint8_t *secret;

	must(find_secret(&secret));
	must_have(blm_open_keyed(&in->part[i], NULL, path, flags, secret));
	must_have(blm_info(in->part[i], &info));
	if (!info.split_parts)
		give_up(broken("%s: split_parts: the file is a whole filter and no part; put the "
			       "right file there", path));
	if (info.split_parts != in->count || info.split_part != i)
		give_up(broken("%s: split_part, split_parts: the file is part %llu of %llu; put "
			       "the right file there", path,
			       (unsigned long long)info.split_part + 1,
			       (unsigned long long)info.split_parts));
	if (!i)
		in->info = info;
	else if (memcmp(info.template_id, in->info.template_id, sizeof(info.template_id)))
		give_up(broken("%s: template_id: it and %s are parts of different filters: kind, "
			       "size, hash, seeds or secret differ", path,
			       part_name(0, in->count)));
}

static void lock_parts(struct folder *in)
{
	if (rank)
		must(open_lock(in));
	for (uint32_t i = 0; i < in->count; i++)
		if (is_mine(i))
			must(lock_byte(in, FIRST_PART_BYTE + (off_t)i,
				       part_path(in->path, i, in->count),
				       "a rank of another job"));
}

/* All ranks look at the first part, and at those of their own. */
static void open_parts(struct folder *in, unsigned flags)
{
	if (in->writes)
		lock_parts(in);
	in->part = must_alloc(in->count, sizeof(struct blm_filter *));
	open_part(in, 0, rank ? 0 : flags);
	in->any = in->part[0];
	for (uint32_t i = 1; i < in->count; i++)
		if (is_mine(i))
			open_part(in, i, flags);
	in->hash_id = blm_hash_id(in->any);
}

static int open_folder(struct folder *in, int code)
{
	if (code == DONE && !rank)
		code = count_parts(in->path, &in->count);
	if (code == DONE && !rank && in->writes)
		code = open_lock(in);
	if (code == DONE && !rank && in->writes)
		code = lock_byte(in, JOB_BYTE, in->path, "another job");
	code = (int)most_of_all((uint64_t)code);
	from_first(&in->count, sizeof(in->count));
	if (code == DONE)
		open_parts(in, in->writes ? BLM_OPEN_WRITE : 0);
	return code;
}

/* Options that do not agree with the files are not used: a later run need not repeat the size. */
int folder_claim(struct folder *ret, const char *path, bool create, uint64_t parts)
{
	uint64_t there = !rank && is_folder(path);

	*ret = (struct folder){ .path = path, .writes = true };
	from_first(&there, sizeof(there));
	if (!there && !create)
		all_give_up(broken("%s: there is no such folder; --create makes one", path));
	return open_folder(ret, there ? DONE : make_by_options(ret, parts));
}

int folder_test(struct folder *ret, const char *path)
{
	*ret = (struct folder){ .path = path };
	return open_folder(ret, DONE);
}

/* ---- Hashes ---- */

static int64_t ask_part(struct folder *in, enum folder_how how, struct blm_filter *part,
			const struct blm_hash *hashes, size_t count, uint64_t *bits)
{
	if (how == FOLDER_ADD)
		return blm_add_hashes(part, in->hash_id, hashes, count, NULL);
	return how == FOLDER_CLAIM ? blm_claim_hashes(part, in->hash_id, hashes, count, bits)
		: blm_contains_hashes(part, in->hash_id, hashes, count, bits);
}

/* Hashes of one part that follow each other go in one call, so their order stays. */
void folder_ask(struct folder *in, enum folder_how how, const struct blm_hash *hashes, size_t count,
		uint64_t *ret)
{
	uint64_t bits[64];

	if (in->owner_capacity < count) {
		free(in->owners);
		in->owners = must_alloc(count, sizeof(*in->owners));
		in->owner_capacity = count;
	}
	if (ret)
		memset(ret, 0, (count + 63) / 64 * 8);
	find_owners(in->any, hashes, count, in->count, in->owners);
	for (size_t at = 0, some; at < count; at += some) {
		uint32_t part = in->owners[at];

		for (some = 1; at + some < count && some < 64 * ARRAY_LEN(bits)
		     && in->owners[at + some] == part; some++)
			;
		must_have(ask_part(in, how, in->part[part], hashes + at, some, bits));
		for (size_t i = 0; ret && i < some; i++)
			ret[(at + i) / 64] |= (bits[i / 64] >> i % 64 & 1) << (at + i) % 64;
	}
}

double folder_rates(const struct folder *in)
{
	double sum = 0;

	for (uint32_t i = 0; i < in->count; i++) {
		struct blm_info info = BLM_INFO;

		if (is_mine(i) && blm_info(in->part[i], &info) == 0)
			sum += info.rate_at_keys;
	}
	return sum;
}

void folder_sync(const struct folder *in)
{
	for (uint32_t i = 0; i < in->count; i++)
		if (in->part[i] && in->writes && is_mine(i))
			must_have(blm_sync(in->part[i]));
}

void folder_close(struct folder *in)
{
	folder_sync(in);
	for (uint32_t i = 0; i < in->count; i++)
		blm_close(in->part[i]);
	if (in->writes)
		close(in->lock);
	free(in->part);
	free(in->owners);
}
