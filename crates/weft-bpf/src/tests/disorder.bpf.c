// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/*
 * For tests: on clsact egress, drops some packets and sends others through a device without a
 * queue, so that they overtake.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 5);
	__type(key, __u32);
	__type(value, __u32);
} plan SEC(".maps");

/*
 * Keys: packets of 10,000 to drop, packets of 10,000 that overtake, index of the device without a
 * queue; packets dropped, packets that overtook.
 */
enum { LOSE, OVERTAKE, DEVICE, LOST, OVERTAKEN };

static __always_inline __u32 *planned(__u32 which)
{
	return bpf_map_lookup_elem(&plan, &which);
}

SEC("tc")
int disorder(struct __sk_buff *skb)
{
	__u32 *lose = planned(LOSE), *overtake = planned(OVERTAKE), *device = planned(DEVICE);
	__u32 *lost = planned(LOST), *overtaken = planned(OVERTAKEN);
	__u32 chance = bpf_get_prandom_u32() % 10000;

	if (!lose || !overtake || !device || !lost || !overtaken)
		return TC_ACT_UNSPEC;
	if (chance < *lose) {
		++*lost;
		return TC_ACT_SHOT;
	}
	if (chance < *lose + *overtake) {
		++*overtaken;
		return bpf_redirect(*device, 0);
	}
	return TC_ACT_UNSPEC;
}
