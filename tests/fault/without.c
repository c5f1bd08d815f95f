/* without.c - what is built where there is no libfuse3 */
#include <stdio.h>

int main(void)
{
	puts("1..0 # SKIP it was built without libfuse3-dev");
	return 0;
}
