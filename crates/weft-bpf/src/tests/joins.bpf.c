// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/*
 * For tests: drops SYNs (at random, of joins (RFC 8684, section 3.2), of new MPTCP connections, or
 * with a request for ECN) or clears the ECN flags of joins. IPv4 without options only.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define IP_HEADER 20
#define PROTOCOL (ETH_HLEN + 9)
#define FLAGS 13
#define CHECKSUM 16
#define OPTIONS 20
#define SYN 0x02
#define ACK 0x10
#define ECE_CWR 0xc0
#define MPTCP 30
#define MP_CAPABLE 0
#define MP_JOIN 1
#define NO_MPTCP -1
#define MOST_OPTIONS 10

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 6);
	__type(key, __u32);
	__type(value, __u32);
} plan SEC(".maps");

/*
 * Keys: joins still to drop, joins still to clear of ECN, joins seen; percentage of SYNs to drop.
 * The last two are 1 if all SYNs of new MPTCP connections, or all that ask for ECN, are dropped.
 */
enum { LOSE, BLEACH, SEEN, PERCENT, LOSE_CAPABLE, LOSE_ECN };

static __always_inline __u32 *planned(__u32 which)
{
	return bpf_map_lookup_elem(&plan, &which);
}

/* Returns the subtype of the MPTCP option. */
static __always_inline int subtype(struct __sk_buff *skb, __u32 tcp, __u8 length)
{
	__u32 at = tcp + OPTIONS, end = tcp + length;
	__u8 option[3];
	int i;

	for (i = 0; i < MOST_OPTIONS && at + 2 < end; i++) {
		if (bpf_skb_load_bytes(skb, at, option, sizeof(option)))
			return NO_MPTCP;
		if (option[0] == MPTCP)
			return option[2] >> 4;
		/* The kinds 0 (end of list) and 1 (no operation) have no length. */
		at += option[0] < 2 ? 1 : option[1];
	}
	return NO_MPTCP;
}

SEC("tc")
int spoil_joins(struct __sk_buff *skb)
{
	__u32 tcp = ETH_HLEN + IP_HEADER, *lose = planned(LOSE), *bleach = planned(BLEACH), *seen = planned(SEEN);
	__u32 *percent = planned(PERCENT), *lose_capable = planned(LOSE_CAPABLE), *lose_ecn = planned(LOSE_ECN);
	__u8 protocol, flags[2];
	__u16 before, after;
	int kind;

	if (!lose || !bleach || !seen || !percent || !lose_capable || !lose_ecn || skb->protocol != bpf_htons(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, PROTOCOL, &protocol, 1) || protocol != 6 ||
	    bpf_skb_load_bytes(skb, tcp + FLAGS - 1, flags, sizeof(flags)) || (flags[1] & (SYN | ACK)) != SYN)
		return TC_ACT_UNSPEC;
	if (bpf_get_prandom_u32() % 100 < *percent)
		return TC_ACT_SHOT;
	if (*lose_ecn && (flags[1] & ECE_CWR) == ECE_CWR)
		return TC_ACT_SHOT;
	kind = subtype(skb, tcp, (flags[0] >> 4) * 4);
	if (*lose_capable && kind == MP_CAPABLE)
		return TC_ACT_SHOT;
	if (kind != MP_JOIN)
		return TC_ACT_UNSPEC;
	++*seen;
	if (*lose) {
		--*lose;
		return TC_ACT_SHOT;
	}
	if (*bleach) {
		--*bleach;
		__builtin_memcpy(&before, flags, sizeof(before));
		flags[1] &= ~ECE_CWR;
		__builtin_memcpy(&after, flags, sizeof(after));
		bpf_l4_csum_replace(skb, tcp + CHECKSUM, before, after, sizeof(after));
		bpf_skb_store_bytes(skb, tcp + FLAGS - 1, flags, sizeof(flags), 0);
	}
	return TC_ACT_UNSPEC;
}
