/*
 * mapping.c - the library's own map of a filter's file, from /proc: the limits go to the very pages
 * that the filter has
 */
#include "bench.h"

#include <string.h>
#include <sys/stat.h>

/* One line of /proc/self/maps or smaps that begins a map. */
struct map {
	unsigned long long from, to, offset, inode;
	bool write;
};

static bool is_map(const char *line, struct map *ret)
{
	char rights[5];

	if (sscanf(line, "%llx-%llx %4s %llx %*x:%*x %llu", &ret->from, &ret->to, rights,
		   &ret->offset, &ret->inode)
	    != 5)
		return false;
	ret->write = rights[1] == 'w';
	return true;
}

static unsigned long long inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Maps that follow each other in memory and in the file are one. */
void *mapping_find(const char *path, uint64_t from, uint64_t to)
{
	unsigned long long inode = inode_of(path);
	FILE *maps = fopen("/proc/self/maps", "re");
	struct map map, run = { 0 };
	char line[4200];
	void *ret = NULL;

	while (maps && inode && !ret && fgets(line, sizeof(line), maps)) {
		if (!is_map(line, &map) || map.inode != inode || !map.write)
			continue;
		if (run.to == map.from && run.offset + (run.to - run.from) == map.offset)
			run.to = map.to;
		else
			run = map;
		if (run.offset <= from && run.offset + (run.to - run.from) >= to)
			ret = (void *)(uintptr_t)(run.from + (from - run.offset));
	}
	if (maps)
		fclose(maps);
	return ret;
}

void mapping_resident(const char *path, uint64_t *ret_bytes, uint64_t *ret_huge)
{
	unsigned long long inode = inode_of(path), kib;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	struct map map = { 0 };
	char line[4200];

	*ret_bytes = *ret_huge = 0;
	while (smaps && inode && fgets(line, sizeof(line), smaps))
		if (is_map(line, &map) || map.inode != inode)
			continue;
		else if (sscanf(line, "Rss: %llu", &kib) == 1)
			*ret_bytes += kib << 10;
		else if (sscanf(line, "FilePmdMapped: %llu", &kib) == 1
			 || sscanf(line, "ShmemPmdMapped: %llu", &kib) == 1)
			*ret_huge += kib << 10;
	if (smaps)
		fclose(smaps);
}
