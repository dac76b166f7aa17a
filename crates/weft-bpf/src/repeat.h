/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/* A loop that the verifier can bound: it checks the body once, for any number of iterations. */
#ifndef WEFT_REPEAT_H
#define WEFT_REPEAT_H

#include <linux/types.h>

#ifdef __bpf__

#include <bpf/bpf_helpers.h>

/* Calls step(i, context) for i from 0 to n - 1; step returns 0 to continue. */
#define weft_repeat(n, step, context) bpf_loop(n, step, context, 0)

#else

static inline void weft_repeat(__u32 n, long (*step)(__u32 i, void *context), void *context)
{
	__u32 i;

	for (i = 0; i < n && !step(i, context); i++)
		;
}

#endif

#endif
