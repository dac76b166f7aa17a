/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * The layer between the kernel's sockets and the connection that an algorithm works on. It has the
 * slots, the events for the daemon, the window and pacing rate that the kernel uses, and the echo
 * of marks. congestion_ops.h builds the kernel's operations on it.
 *
 * A connection is found by its MPTCP token: subflow socket -> icsk_ulp_data -> conn -> token. Each
 * TCP socket has a connection of its own. A subflow takes a slot of its connection when its
 * congestion control starts and releases it with the socket; the last subflow deletes the
 * connection. The subflows of one connection run on several CPUs at the same time. A subflow writes
 * only its own slot; amp.h and warp.h describe the exceptions.
 */
#ifndef WEFT_SOCKET_H
#define WEFT_SOCKET_H

#include "kernel.h"
#include "weft.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct weft_connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weft_totals);
} totals SEC(".maps");

/*
 * A subflow's received bytes are recorded each time they grow by this number: rare enough to cost
 * almost nothing per packet.
 */
#define WEFT_RECORD_BYTES 65536

/* Number of events that a user has caused in the current second. */
struct weft_user {
	__u64 second;
	__u64 events;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct weft_user);
} users SEC(".maps");

/*
 * Network namespaces, by inode number, whose events the daemon handles; key 0 stands for all. Any
 * user can have sockets in a namespace that is not served, and their events would only cost time.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} served SEC(".maps");

/* Set before loading. A section of its own makes it a separate map. */
const volatile struct weft_parameters parameters SEC(".rodata.parameters") = {};

static const struct weft_connection weft_empty;

/* State of a socket in icsk_ca_priv (104 bytes). */
struct weft_private {
	__u64 key; /* key of the connection; 0: the socket holds no slot */
	__u32 slot;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 una;
	__u32 round_end;
	__u32 cut_end;
	__u32 round_acked;
	__u32 round_marked;
	__u32 prior_rcv_nxt;
	__u32 ce_state;
	__u32 bulk; /* 1 if this subflow need not check for `bulk` bytes any more */
	__u32 received; /* bytes received when last recorded, modulo 2^32 */
	__u32 owner;
	__u32 reduces; /* 1 if the kernel called ssthresh after the last weft_set_state */
	__u32 unsent_limit; /* bytes, or 0; weft_limit_unsent() */
};

static __always_inline struct weft_private *weft_private(struct sock *sk)
{
	return (struct weft_private *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline struct weft_totals *weft_totals(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

#define weft_count(field)                                        \
	do {                                                     \
		struct weft_totals *t = weft_totals();           \
		if (t)                                           \
			__sync_fetch_and_add(&t->field, 1);      \
	} while (0)

static __always_inline bool weft_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline __u8 weft_ca_state(struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
}

/* Returns the MPTCP token of a subflow, or 0 for a TCP socket. */
static __always_inline __u32 weft_token(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct mptcp_subflow_context *context;
	struct mptcp_sock *connection;

	if (!bpf_core_field_exists(tp->is_mptcp) || !tp->is_mptcp)
		return 0;
	context = ((struct inet_connection_sock *)sk)->icsk_ulp_data;
	if (!context)
		return 0;
	connection = (struct mptcp_sock *)BPF_CORE_READ(context, conn);
	return connection ? BPF_CORE_READ(connection, token) : 0;
}

/* Writes a socket's addresses, of 16 bytes each, where an IPv4 address fills the first four. */
static __always_inline void weft_read_addresses(struct sock *sk, __u8 *local, __u8 *remote)
{
	struct sock_common *common = &sk->__sk_common;

	if (common->skc_family == AF_INET6) {
		BPF_CORE_READ_INTO((struct in6_addr *)local, common, skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)remote, common, skc_v6_daddr);
	} else {
		BPF_CORE_READ_INTO((__u32 *)local, common, skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)remote, common, skc_daddr);
	}
}

static __always_inline void weft_describe(struct sock *sk, struct weft_subflow *subflow)
{
	struct sock_common *common = &sk->__sk_common;

	subflow->family = common->skc_family;
	subflow->local_port = common->skc_num;
	subflow->remote_port = bpf_ntohs(common->skc_dport);
	weft_read_addresses(sk, subflow->local, subflow->remote);
}

/* A separate function, so that BTF contains struct weft_event. */
static __noinline void weft_fill(struct weft_event *event, struct weft_connection *c, __u32 s)
{
	struct weft_subflow *subflow = &c->subflow[s % WEFT_SUBFLOWS];

	event->token = c->token;
	event->algorithm = c->algorithm;
	event->slot = s;
	event->active = c->w[s % WEFT_SUBFLOWS].active;
	event->family = subflow->family;
	event->local_port = subflow->local_port;
	event->remote_port = subflow->remote_port;
	event->reserved = 0;
	event->reserved2 = 0;
	__builtin_memcpy(event->local, subflow->local, sizeof(event->local));
	__builtin_memcpy(event->remote, subflow->remote, sizeof(event->remote));
}

/* Sends an event about subflow s to the daemon. Returns false if the ring buffer is full. */
static __always_inline bool weft_notify(struct weft_connection *c, __u32 s, __u32 kind, __u64 now)
{
	struct weft_event *event;

	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		weft_count(lost_events);
		return false;
	}
	event->time = now;
	event->kind = kind;
	weft_fill(event, c, s);
	bpf_ringbuf_submit(event, 0);
	return true;
}

static __always_inline bool weft_is_served(struct sock *sk)
{
	__u32 netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum), all = 0;

	return bpf_map_lookup_elem(&served, &netns) || bpf_map_lookup_elem(&served, &all);
}

/*
 * Returns true if the daemon serves the socket's namespace and the socket's user may cause another
 * event. The limit is necessary because any user can make sockets attach to an algorithm and leave
 * it without end.
 */
static __always_inline bool weft_within_limit(struct sock *sk, __u64 now)
{
	struct weft_user *user, first = { .second = now / 1000000000, .events = 1 };
	__u32 uid = sk->sk_uid.val;

	if (!weft_is_served(sk))
		return false;
	user = bpf_map_lookup_elem(&users, &uid);
	if (!user) {
		bpf_map_update_elem(&users, &uid, &first, BPF_ANY);
		return true;
	}
	if (user->second != first.second) {
		user->second = first.second;
		user->events = 0;
	}
	if (__sync_fetch_and_add(&user->events, 1) < parameters.max_events_per_user)
		return true;
	weft_count(lost_events);
	return false;
}

static __always_inline bool weft_notify_limited(struct sock *sk, struct weft_connection *c, __u32 s, __u32 kind)
{
	__u64 now = bpf_ktime_get_ns();

	return weft_within_limit(sk, now) && weft_notify(c, s, kind, now);
}

/* Sends the daemon an event about a subflow that got no slot; @kind is the reason. */
static __always_inline void weft_notify_uncoupled(struct sock *sk, __u32 algorithm, __u32 kind)
{
	__u32 token = weft_token(sk);
	__u64 now = bpf_ktime_get_ns();
	struct sock_common *common = &sk->__sk_common;
	struct weft_event *event;

	if (!token || !weft_within_limit(sk, now))
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		weft_count(lost_events);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->time = now;
	event->kind = kind;
	event->token = token;
	event->algorithm = algorithm;
	event->family = common->skc_family;
	event->local_port = common->skc_num;
	event->remote_port = bpf_ntohs(common->skc_dport);
	weft_read_addresses(sk, event->local, event->remote);
	bpf_ringbuf_submit(event, 0);
}

/*
 * Returns the connection of a socket that has a slot, or NULL. The last other subflow may have
 * deleted the connection while this one took its slot. Then the map has no such connection, or a
 * new one in which another socket owns the slot.
 */
static __always_inline struct weft_connection *weft_find(struct sock *sk)
{
	struct weft_private *ca = weft_private(sk);
	struct weft_connection *c;
	__u64 key = ca->key;

	if (!key)
		return NULL;
	c = bpf_map_lookup_elem(&connections, &key);
	if (!c)
		return NULL;
	return c->subflow[ca->slot % WEFT_SUBFLOWS].owner == ca->owner ? c : NULL;
}

/*
 * Notifies the daemon once that a connection has transferred enough data for additional subflows.
 */
static __always_inline void weft_notify_bulk(struct sock *sk)
{
	struct weft_private *ca = weft_private(sk);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct weft_connection *c;

	if (ca->bulk || tp->bytes_acked + tp->bytes_received < parameters.bulk)
		return;
	c = weft_find(sk);
	/* Retried until the event has been sent. A daemon that serves the namespace later counts bytes. */
	if (!c || !c->token || c->bulk || !weft_is_served(sk) ||
	    weft_notify_limited(sk, c, ca->slot % WEFT_SUBFLOWS, WEFT_BULK)) {
		ca->bulk = 1;
		if (c)
			c->bulk = 1;
	}
}

/*
 * Records how many bytes the subflow has received. A subflow that sends nothing has no rounds at
 * whose end this could be done.
 */
static __always_inline void weft_record_received(struct sock *sk)
{
	struct weft_private *ca = weft_private(sk);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 received = tp->bytes_received;
	struct weft_connection *c;

	if ((__u32)received - ca->received < WEFT_RECORD_BYTES)
		return;
	ca->received = received;
	c = weft_find(sk);
	if (c)
		c->subflow[ca->slot % WEFT_SUBFLOWS].received = received;
}

/*
 * Notifies the daemon if all subflows but the initial one were suppressed or released since @before.
 * @sk is the socket that caused it, or NULL if the daemon did.
 */
static __always_inline void weft_notify_suppression(struct sock *sk, struct weft_connection *c, __u32 before)
{
	__u32 kind = c->suppressed ? WEFT_SUPPRESS : WEFT_RELEASE;
	__u64 now;
	__u32 s;

	if (c->suppressed == before)
		return;
	now = bpf_ktime_get_ns();
	c->changed = now;
	if (c->suppressed)
		c->suppressions++;
	else
		c->releases++;
	for (s = 0; s < WEFT_SUBFLOWS; s++) {
		if (!c->w[s].established || (s == c->initial && kind == WEFT_SUPPRESS))
			continue;
		if (!sk || weft_within_limit(sk, now))
			weft_notify(c, s, kind, now);
	}
}

/* Returns a mask of the subflows that are established and active. */
static __always_inline __u32 weft_active(const struct weft_connection *c)
{
	__u32 s, active = 0;

#pragma clang loop unroll(disable)
	for (s = 0; s < WEFT_SUBFLOWS; s++)
		active |= (__u32)(c->w[s].established & c->w[s].active) << s;
	return active;
}

/* Returns true if an established subflow is inactive. */
static __always_inline bool weft_has_inactive(const struct weft_connection *c)
{
	__u32 s, inactive = 0;

#pragma clang loop unroll(disable)
	for (s = 0; s < WEFT_SUBFLOWS; s++)
		inactive |= c->w[s].established & ~c->w[s].active;
	return inactive & 1;
}

/* Returns true if another subflow than s had an acknowledgement after the time in us. */
static __always_inline bool weft_has_progressed(const struct weft_connection *c, __u32 s, __u64 after)
{
	__u32 r, progressed = 0;

#pragma clang loop unroll(disable)
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		progressed |= r != s && c->w[r].established && c->subflow[r].last_ack > after;
	return progressed;
}

/*
 * Notifies the daemon of the subflows that were activated or deactivated since @before, a value of
 * weft_active(). @sk is the socket that caused it, or NULL if the daemon did. A separate function,
 * because it is long and rarely needed.
 *
 * Returns the mask of these subflows.
 */
static __noinline __u32 weft_notify_active(struct sock *sk, struct weft_connection *c, __u32 before)
{
	__u32 s, changed = weft_active(c) ^ before;
	__u64 now;

	if (!changed)
		return 0;
	now = bpf_ktime_get_ns();
	c->changed = now;
	for (s = 0; s < WEFT_SUBFLOWS; s++) {
		if (!(changed >> s & 1) || !c->w[s].established || !c->token)
			continue;
		if (c->w[s].active)
			c->releases++;
		else
			c->suppressions++;
		if (!sk || weft_within_limit(sk, now))
			weft_notify(c, s, c->w[s].active ? WEFT_ACTIVATE : WEFT_DEACTIVATE, now);
	}
	return changed;
}

/*
 * Returns the connection with this key, which is created if necessary, or NULL if the map is full.
 */
static __always_inline struct weft_connection *weft_entry(__u64 *key)
{
	struct weft_connection *c = bpf_map_lookup_elem(&connections, key);

	if (c)
		return c;
	if (!bpf_map_update_elem(&connections, key, &weft_empty, BPF_NOEXIST))
		weft_count(connections);
	return bpf_map_lookup_elem(&connections, key);
}

/* Takes a free slot and returns its number, or WEFT_SUBFLOWS if all slots are taken. */
static __always_inline __u32 weft_free_slot(struct weft_connection *c)
{
	__u32 s;

	for (s = 0; s < WEFT_SUBFLOWS; s++) {
		if (!(__sync_fetch_and_or(&c->open, 1U << s) & 1U << s))
			break;
	}
	return s;
}

/* Takes a slot of the socket's connection. Returns NULL if there is no free entry or slot. */
static __always_inline struct weft_connection *weft_take_slot(struct sock *sk, __u32 algorithm)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct weft_private *ca = weft_private(sk);
	__u32 token = weft_token(sk), s;
	struct weft_connection *c;
	struct weft_window *w;
	__u64 key;

	/* Only subflows with the same algorithm are coupled, even within a connection. */
	key = (__u64)algorithm << 56;
	if (token)
		key |= token;
	else
		key |= 1ULL << 55 | ((__u64)bpf_get_prandom_u32() << 32 >> 9) | bpf_get_prandom_u32();
	c = weft_entry(&key);
	if (c && c->open & WEFT_CLOSED) {
		/* The last subflow of that connection is about to delete the entry. */
		bpf_map_delete_elem(&connections, &key);
		c = weft_entry(&key);
	}
	if (!c)
		return NULL;
	s = weft_free_slot(c);
	if (s == WEFT_SUBFLOWS)
		return NULL;
	weft_count(subflows);
	c->token = token;
	c->algorithm = algorithm;
	c->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (!c->opened)
		c->opened = bpf_ktime_get_ns();
	__builtin_memset(&c->subflow[s], 0, sizeof(c->subflow[s]));
	weft_describe(sk, &c->subflow[s]);
	c->subflow[s].mss = tp->mss_cache;
	c->subflow[s].last_ack = tp->tcp_mstamp;
	w = &c->w[s];
	__builtin_memset(w, 0, sizeof(*w));
	w->cwnd = (__u64)tp->snd_cwnd << WEFT_PACKET_BITS;
	w->ssthresh = (__u64)tp->snd_ssthresh << WEFT_PACKET_BITS;
	w->srtt = tp->srtt_us;
	w->active = 1;
	w->established = 1;

	ca->key = key;
	ca->slot = s;
	ca->owner = bpf_get_prandom_u32() | 1;
	c->subflow[s].owner = ca->owner;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
	ca->una = tp->snd_una;
	ca->round_end = tp->snd_nxt;
	ca->cut_end = tp->snd_una;
	ca->round_acked = 0;
	ca->round_marked = 0;
	return c;
}

/* Releases slot s, after the algorithm's on_close. The last slot deletes the connection. */
static __always_inline void weft_give_back(struct weft_connection *c, __u64 key, __u32 s)
{
	__u32 bit = 1U << s;

	if (__sync_fetch_and_and(&c->open, ~bit) == bit &&
	    __sync_val_compare_and_swap(&c->open, 0, WEFT_CLOSED) == 0)
		bpf_map_delete_elem(&connections, &key);
}

/*
 * Sets the window of the socket, and the pacing rate that MPTCP's scheduler and TSO read (as
 * tcp_update_pacing_rate() does).
 */
static __always_inline void weft_publish(struct sock *sk, struct weft_window *w)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 cwnd, ssthresh, rate;

	weft_limit(w);
	cwnd = w->cwnd >> WEFT_PACKET_BITS;
	if (cwnd > tp->snd_cwnd_clamp)
		cwnd = tp->snd_cwnd_clamp;
	if (!cwnd)
		cwnd = 1;
	tp->snd_cwnd = cwnd;
	ssthresh = w->ssthresh >> WEFT_PACKET_BITS;
	tp->snd_ssthresh = ssthresh < TCP_INFINITE_SSTHRESH ? ssthresh : TCP_INFINITE_SSTHRESH;

	rate = (__u64)tp->mss_cache * 8 * (cwnd > tp->packets_out ? cwnd : tp->packets_out);
	rate *= w->cwnd < w->ssthresh / 2 ? 2000000 : 1200000;
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

/*
 * RFC 8257, section 3.2: ECE mirrors CE exactly, also with delayed acknowledgements. With Accurate
 * ECN the kernel reports a count of marks, which has the bits of ECE and CWR.
 */
static __always_inline void weft_echo(struct sock *sk, bool ce)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct weft_private *ca = weft_private(sk);

	if (tp->ecn_flags & TCP_ECN_MODE_ACCECN)
		return;
	if (ca->ce_state != ce) {
		/* The delayed acknowledgement covers only packets that came before this one. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			if (ca->ce_state)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, ca->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->ce_state = ce;
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
