// SPDX-License-Identifier: GPL-2.0
/*
 * A switch port with a marking threshold, on clsact egress of the interface that leads to the link.
 *
 * The qdisc below is a token bucket (tbf) that holds the waiting packets. The packet that it
 * released last is not among them: that one is, in the terms of the packet level, being sent. A
 * packet is dropped if the queue has reached the limit, and marked if the queue has reached K and
 * the packet is ECN-capable. Both use the actual length of the queue.
 *
 * The program also records for how long the queue had each length. It runs for arrivals only, so it
 * assumes that between two arrivals the queue shrinks by one packet per serialisation time of a
 * full packet.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "queue.h"

/* Number of queue lengths that are distinguished, a power of two above any limit. */
#define LENGTHS 1024
/* Maximum number of ports of an experiment. */
#define PORTS 1024
/* Interface index of port 0. */
#define FIRST_INDEX 2

struct port {
	struct bpf_spin_lock lock;
	/* Set by user space. */
	__u32 limit;		/* packets */
	__u32 mark;		/* packets; 0xffffffff marks nothing */
	__u32 service_ns;	/* serialisation of a full packet */
	/* Length of the queue after the last arrival, and the time of that arrival. */
	__u32 length;
	__u32 unused;
	__u64 since_ns;
	__u64 packets;
	__u64 bytes;
	__u64 drops;
	__u64 marks;
	/* Packets that an offload has merged; 0 in a valid experiment. */
	__u64 aggregated;
	__u64 time_at_ns[LENGTHS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, struct port);
} ports SEC(".maps");

/*
 * Adds the time since the last arrival to the lengths that the queue has had: it shrank to
 * `length`.
 */
static __always_inline void account(struct port *port, __u64 now, __u32 length)
{
	__u64 elapsed = now > port->since_ns ? now - port->since_ns : 0;
	__u32 level = port->length;

	if (port->since_ns) {
		for (int i = 0; i < LENGTHS; i++) {
			__u64 stayed;

			if (level <= length)
				break;
			stayed = elapsed < port->service_ns ? elapsed : port->service_ns;
			port->time_at_ns[level & (LENGTHS - 1)] += stayed;
			elapsed -= stayed;
			level--;
		}
		port->time_at_ns[length & (LENGTHS - 1)] += elapsed;
	}
	port->since_ns = now;
	port->length = length;
}

SEC("tc")
int weft_switch(struct __sk_buff *ctx)
{
	__u32 key = ctx->ifindex - FIRST_INDEX;
	struct port *port = bpf_map_lookup_elem(&ports, &key);
	__u64 now = bpf_ktime_get_ns();
	__u64 bytes = ctx->len;
	__u32 segments = ctx->gso_segs;
	__u32 length;
	int dropped, marked = 0;

	if (!port)
		return TC_ACT_OK;
	length = weft_queue_length(ctx);
	dropped = length >= port->limit;
	if (!dropped && length >= port->mark)
		marked = bpf_skb_ecn_set_ce(ctx) == 1;

	bpf_spin_lock(&port->lock);
	account(port, now, length);
	if (dropped) {
		port->drops++;
	} else {
		port->length++;
		port->packets++;
		port->bytes += bytes;
		port->marks += marked;
		port->aggregated += segments > 1;
	}
	bpf_spin_unlock(&port->lock);
	return dropped ? TC_ACT_SHOT : TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";
