/*
 * user.c - a program that someone else might write: C and C++, with nothing but the installed
 * header
 */
#include <bloomery.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct blm_params params = BLM_PARAMS();
	struct blm_exchange how = BLM_EXCHANGE();
	struct blm_info info = BLM_INFO;
	struct blm_filter *f = NULL;
	int r;

	params.capacity = 1000;
	params.rate = 0.001;
	r = blm_create(&f, NULL, argc > 1 ? argv[1] : "./user.blm", &params);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", blm_strerror(r), blm_error_message());
		return 1;
	}
	r = blm_claim(f, "key", 3) == 1 && blm_claim(f, "key", 3) == 0 && blm_contains(f, "key", 3)
		&& blm_info(f, &info) == 0 && info.keys == 1 && how.format == NULL;
	f = blm_close(f);
	printf("%s %s\n", blm_version(), r ? "ok" : "wrong");
	return r ? 0 : 1;
}
