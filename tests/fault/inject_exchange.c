/* inject_exchange.c - inject.c's cases of import, export and what they go through */
#include "inject.h"
#include "stream/stream.h"

#include <fcntl.h>
#include <unistd.h>

static int export_to_function(struct world *w)
{
	return blm_export(w->f, NULL, ignore_bytes, NULL);
}

static int import_plain(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), NULL, "plain");
}

static int import_gzip(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), NULL, "gzip");
}

static int import_text(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w),
			       &BLM_EXCHANGE(.base64 = true, .allocate = true), "text");
}

static int import_foreign(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), &BLM_EXCHANGE(.hash = "mm3-64"),
			       "foreign");
}

static int import_foreign_text(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w),
			       &BLM_EXCHANGE(.hash = "mm3-64", .base64 = true,
					     .format = "pybloomfiltermmap"),
			       "foreign.text");
}

static int import_bytes(struct world *w)
{
	return blm_import_bytes(&w->made, w->store, new_name(w), NULL, w->bytes, w->count);
}

struct bytes_left {
	const uint8_t *next;
	size_t left;
};

/* A few bytes at a time. */
static int64_t give_bytes(void *context, void *buffer, size_t bytes)
{
	struct bytes_left *at = context;
	size_t n = bytes < 1000 ? bytes : 1000;

	if (n > at->left)
		n = at->left;
	memcpy(buffer, at->next, n);
	at->next += n;
	at->left -= n;
	return (int64_t)n;
}

static int import_from_function(struct world *w)
{
	struct bytes_left at = { w->bytes, w->count };

	return blm_import(&w->made, w->store, new_name(w), NULL, give_bytes, &at);
}

static void export_first(struct world *w)
{
	FIXTURE(blm_export_bytes(w->f, NULL, &w->bytes, &w->count));
}

int export_file(struct world *w)
{
	return blm_export_file(w->f, NULL, "exported");
}

static int export_over(struct world *w)
{
	return blm_export_file(w->g, &BLM_EXCHANGE(.replace = true, .mode = 0600), "a");
}

int export_bytes(struct world *w)
{
	return blm_export_bytes(w->f, NULL, &w->bytes, &w->count);
}

static int export_text(struct world *w)
{
	return blm_export_bytes(w->f, &BLM_EXCHANGE(.base64 = true), &w->bytes, &w->count);
}

static int open_foreign(struct world *w)
{
	return blm_open_foreign(&w->made, "foreign", &BLM_EXCHANGE(.hash = "mm3-64"));
}

/* As another program has written it, with the keys of "a". */
static void write_foreign(const char *format, const char *path)
{
	struct blm_filter *f;

	FIXTURE(blm_create(&f, NULL, NULL,
			   &BLM_PARAMS(.format = format, .capacity = 600, .rate = 0.0001)));
	FIXTURE(add_keys(f, 0, KEYS));
	FIXTURE(blm_export_file(f, &BLM_EXCHANGE(.format = format), path));
	blm_close(f);
}

static void write_json(struct world *w)
{
	write_foreign("bits-and-blooms-json", "other");
}

/* That goes on behind its bits, plain and in gzip. */
static void write_longer(struct world *w)
{
	int fd;

	write_foreign("dcso", "longer");
	fd = open("longer", O_WRONLY | O_APPEND | O_CLOEXEC);
	FIXTURE(write(fd, "and more", 8) == 8 ? 0 : -EIO);
	close(fd);
	pack_in_gzip("longer", "other");
}

static int import_other(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), NULL, "other");
}

static int open_other(struct world *w)
{
	return blm_open_foreign(&w->made, "other", NULL);
}

/* What it is, as far as the file that it came from tells. */
static int import_and_tell(struct world *w)
{
	struct blm_info *info = &BLM_INFO;
	int r = import_other(w);

	return r < 0 ? r : blm_info(w->made, info);
}

/* Bytes through every stage and back. */
static int stream(struct world *w)
{
	static const struct blm_stage *const stages[] = { &blm_stage_base64, &blm_stage_zlib,
							  &blm_stage_zstd };
	static uint8_t from[100000], to[sizeof(from)];
	struct blm_buffer buffer = { 0 };
	struct blm_writer *writer;
	struct blm_reader *reader;
	int64_t n;
	int r = blm_writer_memory(&writer, &buffer);

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * i >> 7);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(stages); i++)
		r = blm_writer_stage(&writer, stages[i], 4);
	if (r == 0)
		r = writer->write(writer, from, sizeof(from));
	if (r == 0)
		r = writer->finish(writer);
	blm_writer_close(writer);
	if (r == 0)
		r = blm_reader_memory(&reader, buffer.bytes, buffer.count);
	if (r == 0) {
		for (size_t i = 0; r == 0 && i < ARRAY_LEN(stages); i++)
			r = blm_reader_stage(&reader, stages[i], "in memory");
		if (r == 0)
			r = blm_reader_peeking(&reader);
		n = r == 0 ? blm_read_full(reader, to, sizeof(to)) : r;
		r = n < 0 ? (int)n : n == sizeof(to) && !memcmp(from, to, sizeof(to)) ? 0 : -EILSEQ;
		blm_reader_close(reader);
	}
	free(buffer.bytes);
	return r;
}

const struct one_case exchange_cases[] = {
	{ "import", EVERYWHERE, import_plain, NULL, 0, FIRST },
	{ "import-gzip", EVERYWHERE, import_gzip, NULL, 0, FIRST },
	{ "import-text", EVERYWHERE, import_text, NULL, 0, FIRST },
	{ "import-foreign", EVERYWHERE, import_foreign, NULL, 0, FIRST },
	{ "import-foreign-text", IN_PATH, import_foreign_text, NULL, 0, FIRST },
	{ "import-json", IN_PATH, import_other, write_json, 0, FIRST },
	{ "import-longer-and-tell", IN_MEMORY, import_and_tell, write_longer, 0, FIRST },
	{ "import-bytes", IN_PATH | OPEN_F, import_bytes, export_first, 0, FIRST },
	{ "import-from-function", EVERYWHERE | OPEN_F, import_from_function, export_first, 0,
	  FIRST },
	{ "export", IN_PATH | IN_STORE | OPEN_F | GIVES_FILE, export_file, NULL, 0, 0 },
	{ "export-to-function", IN_PATH | OPEN_F, export_to_function, NULL, 0, 0 },
	{ "export-over", IN_PATH | OPEN_G, export_over, NULL, SECOND, 0 },
	{ "export-bytes", IN_PATH | OPEN_F, export_bytes, NULL, 0, 0 },
	{ "export-text", IN_PATH | OPEN_F, export_text, NULL, 0, 0 },
	{ "open-foreign", IN_PATH, open_foreign, NULL, 0, 0 },
	{ "open-foreign-gzip", IN_PATH, open_other, write_longer, 0, 0 },
	{ "stream", IN_MEMORY, stream, NULL, 0, 0 },
	{ .name = NULL },
};
