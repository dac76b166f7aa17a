// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/*
 * Assigns an algorithm to sockets that have not chosen one, by the network that they connect to,
 * the remote or listening port, and their cgroup. The program is attached to a cgroup and runs
 * before the SYN of a socket is sent.
 *
 * A choice by TCP_CONGESTION takes precedence. Additional subflows get the algorithm of the first
 * one.
 */
#include "kernel.h"
#include "weft.h"

#define AF_INET 2
/* Maximum depth of a cgroup that rules can name. */
#define LEVELS 16

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup *ancestors[];
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock___scope {
	struct sock_cgroup_data sk_cgrp_data;
};

struct tcp_congestion_ops___scope {
	char name[16];
};

struct inet_connection_sock___scope {
	struct tcp_congestion_ops___scope *icsk_ca_ops;
	void *icsk_ulp_data;
	__u8 icsk_ca_setsockopt : 1;
};

struct mptcp_sock___scope {
	struct sock *first;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEFT_RULES);
	__type(key, __u32);
	__type(value, struct weft_rule);
} rules SEC(".maps");

/*
 * Returns the first subflow of the socket's MPTCP connection, or NULL if the socket is the first
 * one or not a subflow.
 */
static __always_inline struct sock *first_subflow(struct tcp_sock *tp)
{
	struct inet_connection_sock___scope *icsk = (void *)tp;
	struct mptcp_subflow_context *context;
	struct mptcp_sock___scope *connection;
	struct sock *first;

	if (!bpf_core_field_exists(tp->is_mptcp) || !tp->is_mptcp)
		return NULL;
	context = BPF_CORE_READ(icsk, icsk_ulp_data);
	if (!context)
		return NULL;
	connection = (void *)BPF_CORE_READ(context, conn);
	first = BPF_CORE_READ(connection, first);
	return first == (struct sock *)tp ? NULL : first;
}

/* The properties of a socket that rules match. */
struct candidate {
	__u64 cgroups[LEVELS];
	__u32 address[4];
	__u32 port;
	bool listens;
	__u32 rule; /* the first rule that matches; WEFT_RULES: none */
};

static __always_inline void find_cgroups(struct tcp_sock *tp, struct candidate *socket)
{
	struct cgroup *cgroup = BPF_CORE_READ((struct sock___scope *)tp, sk_cgrp_data.cgroup), *ancestor, **ancestors;
	int level, i;

	if (!cgroup)
		return;
	level = BPF_CORE_READ(cgroup, level);
	ancestors = (void *)cgroup + bpf_core_field_offset(struct cgroup, ancestors);
	for (i = 0; i < LEVELS && i <= level; i++) {
		if (bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &ancestors[i]))
			break;
		socket->cgroups[i] = BPF_CORE_READ(ancestor, kn, id);
	}
}

static __always_inline bool in_cgroup(const struct candidate *socket, __u64 id)
{
	int i;

	for (i = 0; i < LEVELS; i++) {
		if (socket->cgroups[i] == id)
			return true;
	}
	return false;
}

/* Returns true if the first `bits` bits are equal. */
static __always_inline bool within(const __u32 *address, const __u32 *network, __u32 bits)
{
	__u32 i, mask;

	for (i = 0; i < 4 && bits > 32 * i; i++) {
		mask = bits >= 32 * (i + 1) ? ~0U : ~0U << (32 * (i + 1) - bits);
		if ((address[i] ^ network[i]) & bpf_htonl(mask))
			return false;
	}
	return true;
}

static int try_rule(__u32 i, struct candidate *socket)
{
	const struct weft_rule *rule = bpf_map_lookup_elem(&rules, &i);

	if (!rule || !rule->algorithm[0])
		return 1;
	if (socket->port < rule->first_port || socket->port > rule->last_port)
		return 0;
	if (rule->cgroup && !in_cgroup(socket, rule->cgroup))
		return 0;
	if (rule->destination && (socket->listens || !within(socket->address, rule->network, rule->bits)))
		return 0;
	socket->rule = i;
	return 1;
}

static __always_inline void describe(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct candidate *socket)
{
	/*
	 * Reads all fields before it chooses: the verifier rejects a computed pointer into the
	 * context.
	 */
	__u32 local = ops->local_port, remote = bpf_ntohl(ops->remote_port), v4 = ops->remote_ip4;
	__u32 v6_0 = ops->remote_ip6[0], v6_1 = ops->remote_ip6[1], v6_2 = ops->remote_ip6[2], v6_3 = ops->remote_ip6[3];
	bool mapped = ops->family == AF_INET;

	barrier_var(local);
	barrier_var(remote);
	barrier_var(v4);
	barrier_var(v6_0);
	barrier_var(v6_1);
	barrier_var(v6_2);
	barrier_var(v6_3);
	socket->port = socket->listens ? local : remote;
	socket->rule = WEFT_RULES;
	socket->address[0] = mapped ? 0 : v6_0;
	socket->address[1] = mapped ? 0 : v6_1;
	socket->address[2] = mapped ? bpf_htonl(0xffff) : v6_2;
	socket->address[3] = mapped ? v4 : v6_3;
	find_cgroups(tp, socket);
}

SEC("sockops")
int weft_scope(struct bpf_sock_ops *ops)
{
	struct candidate socket = { .listens = ops->op == BPF_SOCK_OPS_TCP_LISTEN_CB };
	struct inet_connection_sock___scope *icsk;
	const struct weft_rule *rule;
	struct bpf_sock *sk = ops->sk;
	struct tcp_sock *tp;
	struct sock *first;
	char name[16] = {};

	if ((!socket.listens && ops->op != BPF_SOCK_OPS_TCP_CONNECT_CB) || !sk)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	icsk = (void *)tp;
	first = socket.listens ? NULL : first_subflow(tp);
	if (first) {
		icsk = (void *)first;
		BPF_CORE_READ_INTO(&name, icsk, icsk_ca_ops, name);
	} else {
		if (BPF_CORE_READ_BITFIELD_PROBED(icsk, icsk_ca_setsockopt))
			return 1;
		describe(ops, tp, &socket);
		bpf_loop(WEFT_RULES, try_rule, &socket, 0);
		rule = bpf_map_lookup_elem(&rules, &socket.rule);
		if (!rule)
			return 1;
		__builtin_memcpy(name, rule->algorithm, sizeof(name));
	}
	bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	return 1;
}
