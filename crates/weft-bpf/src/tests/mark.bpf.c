// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* For tests: marks one of `one_in` ECN-capable packets that leave a device, at random. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} one_in SEC(".maps");

SEC("tc")
int mark(struct __sk_buff *skb)
{
	__u32 zero = 0, *n = bpf_map_lookup_elem(&one_in, &zero);

	/* Acknowledgements without data are not marked. */
	if (n && *n && skb->len > 200 && bpf_get_prandom_u32() % *n == 0)
		bpf_skb_ecn_set_ce(skb);
	return 0;
}
