// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/*
 * For tests: replaces the option of Accurate ECN (RFC 9768, section 3.2.3) by no operations, and counts
 * these options. IPv4 without options only, and on loopback, which verifies no checksums.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/types.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PROTOCOL (ETH_HLEN + 9)
#define TCP (ETH_HLEN + 20)
#define DATA_OFFSET 12
#define OPTIONS 20
#define MOST_OPTIONS 16
#define NOP 1
#define ACCECN0 172
#define ACCECN1 174
#define MOST_BYTES 11

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cleared SEC(".maps");

SEC("tc")
int clear_accecn(struct __sk_buff *skb)
{
	__u8 nops[MOST_BYTES] = { NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP }, protocol, offset, option[2];
	__u32 zero = 0, *count = bpf_map_lookup_elem(&cleared, &zero), at = TCP + OPTIONS, length;
	int i;

	if (!count || skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(skb, PROTOCOL, &protocol, 1) ||
	    protocol != 6 || bpf_skb_load_bytes(skb, TCP + DATA_OFFSET, &offset, 1))
		return TC_ACT_UNSPEC;
	for (i = 0; i < MOST_OPTIONS && at + 1 < TCP + (offset >> 4) * 4; i++) {
		if (bpf_skb_load_bytes(skb, at, option, sizeof(option)) || !option[0])
			break;
		length = option[0] == NOP ? 1 : option[1];
		if (!length)
			break;
		if ((option[0] == ACCECN0 || option[0] == ACCECN1) && length <= MOST_BYTES) {
			if (bpf_skb_store_bytes(skb, at, nops, length, 0))
				break;
			++*count;
		}
		at += length;
	}
	return TC_ACT_UNSPEC;
}
