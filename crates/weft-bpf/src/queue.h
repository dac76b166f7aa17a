/* SPDX-License-Identifier: GPL-2.0 */
/* The length of the qdisc's queue, in packets and in bytes, at the egress interface of a tc program. */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct qdisc_skb_head {
	__u32 qlen;
} __attribute__((preserve_access_index));

struct gnet_stats_queue {
	__u32 backlog;
} __attribute__((preserve_access_index));

struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} __attribute__((preserve_access_index));

struct net_device {
	struct Qdisc *qdisc;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

static __always_inline __u32 weft_queue_length(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);

	return BPF_CORE_READ(skb, dev, qdisc, q.qlen);
}

static __always_inline __u32 weft_queue_bytes(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);

	return BPF_CORE_READ(skb, dev, qdisc, qstats.backlog);
}

#endif
