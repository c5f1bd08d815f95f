/* machine.c - the machine that the figures are of */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static struct text first_line(const char *path)
{
	struct text ret = { "unknown" };
	FILE *f = fopen(path, "re");

	if (f) {
		if (!fgets(ret.s, sizeof(ret.s), f))
			strcpy(ret.s, "unknown");
		fclose(f);
	}
	ret.s[strcspn(ret.s, "\n")] = 0;
	return ret;
}

/* As the processor names itself; some architectures have no such line. */
static struct text cpu_model(void)
{
	struct text ret = { "unknown" }, line;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line.s, sizeof(line.s), f))
		if (sscanf(line.s, "model name : %255[^\n]", ret.s) == 1)
			break;
	if (f)
		fclose(f);
	return ret;
}

static struct text cache_file(int index, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
	return first_line(path);
}

/* "L1 32K, L2 1024K, L3 32768K": those of the first core that hold data. */
static struct text caches(void)
{
	struct text ret = { "" };
	size_t len = 0;

	for (int i = 0; i < 8; i++) {
		struct text level = cache_file(i, "level"), size = cache_file(i, "size");

		if (!strcmp(cache_file(i, "type").s, "Instruction") || !strcmp(size.s, "unknown"))
			continue;
		len += (size_t)snprintf(ret.s + len, sizeof(ret.s) - len, "%sL%.2s %.12s",
					len ? ", " : "", level.s, size.s);
	}
	return len ? ret : (struct text){ "unknown" };
}

static struct text kernel(void)
{
	struct utsname names;
	struct text ret = { "unknown" };

	if (uname(&names) == 0)
		snprintf(ret.s, sizeof(ret.s), "%.60s %.60s %.60s", names.sysname, names.release,
			 names.machine);
	return ret;
}

static struct text cores(void)
{
	struct text ret;

	snprintf(ret.s, sizeof(ret.s), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	return ret;
}

static struct text page_size(void)
{
	struct text ret;

	snprintf(ret.s, sizeof(ret.s), "%ld", sysconf(_SC_PAGESIZE));
	return ret;
}

static struct text version(void)
{
	struct text ret;

	snprintf(ret.s, sizeof(ret.s), "%s", blm_version());
	return ret;
}

static struct text memory(void)
{
	struct text ret;

	snprintf(ret.s, sizeof(ret.s), "%.1f GiB",
		 (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30));
	return ret;
}

void machine_facts(struct fact ret[FACTS])
{
	const struct fact facts[FACTS] = {
		{ "processor", cpu_model() },
		{ "cores", cores() },
		{ "caches", caches() },
		{ "memory", memory() },
		{ "kernel", kernel() },
		{ "page size", page_size() },
		{ "huge pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled") },
		{ "library", version() },
	};

	memcpy(ret, facts, sizeof(facts));
}
