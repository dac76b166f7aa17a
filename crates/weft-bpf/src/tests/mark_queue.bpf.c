// SPDX-License-Identifier: GPL-2.0
/*
 * For tests: on clsact egress, marks packets if the device's queue has at least THRESHOLD packets.
 */
#include "../queue.h"

/* The marking threshold K, in packets. */
#define THRESHOLD 10

SEC("tc")
int mark(struct __sk_buff *ctx)
{
	if (weft_queue_length(ctx) >= THRESHOLD)
		bpf_skb_ecn_set_ce(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
