/*
 * processor.h - which instruction sets the processor and the kernel allow
 *
 * glibc asks the processor when a program starts, and 2.34 and later give the answers. Asking again
 * is slow in a virtual machine: each CPUID instruction goes to the hypervisor, which takes
 * microseconds, and the compiler's __builtin_cpu_supports() needs a dozen at the start of every
 * program that loads the library.
 */
#ifndef BLM_PROCESSOR_H
#define BLM_PROCESSOR_H

#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

#include <stdbool.h>

#ifdef CPU_FEATURE_ACTIVE		/* defined since 2.34 */

/* x86_cpu_active() of glibc shifts a signed 1 by 31 for one of them, which C does not define. */
static inline bool blm_processor_has(unsigned feature)
{
	const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / 128);

	return leaf->active_array[feature % 128 / 32] >> feature % 32 & 1;
}

static inline bool blm_runs_avx2(void)
{
	return blm_processor_has(x86_cpu_AVX2) && blm_processor_has(x86_cpu_POPCNT)
		&& blm_processor_has(x86_cpu_CMPXCHG16B);
}

static inline bool blm_runs_avx512(void)
{
	return blm_processor_has(x86_cpu_AVX512F) && blm_processor_has(x86_cpu_AVX512BW)
		&& blm_processor_has(x86_cpu_AVX512DQ) && blm_processor_has(x86_cpu_AVX512VL)
		&& blm_processor_has(x86_cpu_AVX512_VPOPCNTDQ);
}

#else

#include <cpuid.h>

static inline bool blm_runs_avx2(void)
{
	unsigned a, b, c, d;

	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")
		&& __get_cpuid(1, &a, &b, &c, &d) && c & bit_CMPXCHG16B;
}

static inline bool blm_runs_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
		&& __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
		&& __builtin_cpu_supports("avx512vpopcntdq");
}

#endif

#endif
