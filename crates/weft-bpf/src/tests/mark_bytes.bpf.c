// SPDX-License-Identifier: GPL-2.0
/*
 * For tests: on clsact egress, marks packets if the device's queue has at least plan[0] bytes. A
 * queue of aggregated packets is counted by what is in them.
 */
#include "../queue.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} plan SEC(".maps");

SEC("tc")
int mark(struct __sk_buff *ctx)
{
	__u32 key = 0;
	__u32 *threshold = bpf_map_lookup_elem(&plan, &key);

	if (threshold && weft_queue_bytes(ctx) >= *threshold)
		bpf_skb_ecn_set_ce(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
