// SPDX-License-Identifier: GPL-2.0
/* On clsact egress: every ECN-capable packet is marked. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int mark(struct __sk_buff *skb)
{
	bpf_skb_ecn_set_ce(skb);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
