// SPDX-License-Identifier: GPL-2.0
/* For tests: on clsact egress, marks packets that find ten or more in the device's queue. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* K, in packets. */
#define THRESHOLD 10

struct qdisc_skb_head {
	__u32 qlen;
} __attribute__((preserve_access_index));

struct Qdisc {
	struct qdisc_skb_head q;
} __attribute__((preserve_access_index));

struct net_device {
	struct Qdisc *qdisc;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

SEC("tc")
int mark(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);

	if (BPF_CORE_READ(skb, dev, qdisc, q.qlen) >= THRESHOLD)
		bpf_skb_ecn_set_ce(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
