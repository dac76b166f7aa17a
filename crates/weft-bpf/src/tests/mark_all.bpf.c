// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* For tests: on clsact egress, marks every ECN-capable packet. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int mark(struct __sk_buff *skb)
{
	bpf_skb_ecn_set_ce(skb);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
