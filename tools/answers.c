/* answers.c - what a command says of single keys: their lines, or with --json an object for each */
#include "answers.h"
#include "command.h"
#include "json.h"

void answer_begin(FILE *out, const struct blm_key *key, const struct blm_key *line)
{
	putc('{', out);
	json_write(out, "key", key->bytes, key->len);
	if (line && !keys_are_lines())
		answer_bytes(out, "line", line);
}

void answer_bytes(FILE *out, const char *name, const struct blm_key *bytes)
{
	putc(',', out);
	json_write(out, name, bytes->bytes, bytes->len);
}

void answer_end(FILE *out)
{
	fputs("}\n", out);
}

int gather_answers(struct batch *b, bool wanted, const char *name)
{
	FILE *out;

	if (!json) {
		gather_lines(b, wanted);
		return DONE;
	}
	free(b->objects);
	b->objects = NULL;
	out = open_memstream(&b->objects, &b->answer_bytes);
	if (!out)
		return broken("out of memory");
	for (size_t i = 0; i < b->count; i++) {
		if ((b->bits[i / 64] >> i % 64 & 1) != wanted)
			continue;
		answer_begin(out, &b->keys[i], &b->lines[i]);
		fprintf(out, ",\"%s\":%s", name, wanted ? "true" : "false");
		answer_end(out);
	}
	if (fclose(out) != 0)
		return broken("out of memory");
	b->answer = b->objects;
	return DONE;
}

void print_count(uint64_t count)
{
	printf(json ? "{\"count\":%llu}\n" : "%llu\n", (unsigned long long)count);
}
