/* layout.c - where the C compiler puts the fields that tools/examples/bloomfilter.py declares: STRUCT FIELD OFFSET */
#include <bloomery.h>

#include <stddef.h>
#include <stdio.h>

#define AT(s, field) printf(#s " " #field " %zu\n", offsetof(struct blm_##s, field))
#define ALL(s) printf(#s " - %zu\n", sizeof(struct blm_##s))

int main(void)
{
	ALL(params);
	AT(params, hash);
	AT(params, capacity);
	AT(params, rate);
	AT(params, seed_count);
	AT(params, seeds);
	AT(params, mode);
	AT(params, replace);
	AT(params, sparse);
	ALL(info);
	AT(info, path);
	AT(info, cells);
	AT(info, probes);
	AT(info, seed_count);
	AT(info, seeds);
	AT(info, capacity);
	AT(info, rate);
	AT(info, keys);
	AT(info, caution);
	AT(info, foreign);
	AT(info, older);
	AT(info, catalog_synced);
	AT(info, suspect);
	AT(info, lost_blocks);
	AT(info, from_catalog);
	AT(info, synced);
	AT(info, suspect_epoch);
	AT(info, labels);
	ALL(exchange);
	AT(exchange, format);
	AT(exchange, base64);
	AT(exchange, hash);
	AT(exchange, record);
	AT(exchange, max_bytes);
	AT(exchange, mode);
	AT(exchange, everything);
	AT(exchange, secret);
	AT(exchange, column);
	AT(exchange, row_group);
	AT(exchange, replace);
	AT(exchange, power_of_two);
	AT(exchange, redis_key);
	ALL(estimate);
	AT(estimate, keys);
	AT(estimate, saturated);
	AT(estimate, ones);
	return 0;
}
