/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * The kernel's congestion control operations, built on the algorithm that ALGORITHM names and on
 * its functions ALGORITHM_on_open, ALGORITHM_on_ack and so on (the events of weft-cc). Each program
 * includes this file once, after the algorithm, and defines
 *
 *   ALGORITHM        The name, without the prefix.
 *   ALGORITHM_ID     The number, of enum weft_algorithm.
 *   ALGORITHM_ECN    1 if the algorithm needs ECN.
 *   ALGORITHM_ACTIVE 1 if it suppresses and releases all subflows but one.
 *   ALGORITHM_SHARES 1 if its subflows have shares of one window, and are activated and
 *                    deactivated one by one. ALGORITHM_reacts_to_mark decides whether a mark
 *                    reduces windows. ALGORITHM_on_ack_after_cut is called for everything that is
 *                    delivered.
 *   ALGORITHM_DELAYS 1 if it needs samples of round-trip times. ALGORITHM_on_sample gets each of them,
 *                    before the other events of the acknowledgement.
 *   ALGORITHM_ROWS   1 if each subflow has an ALGORITHM_rows, with ALGORITHM_rows_ack and
 *                    ALGORITHM_rows_round.
 *
 * Events come from cong_control, which is called for each acknowledgement and exists in every
 * kernel. Linux 6.10 changed its arguments, so only the socket is read. The numbers of packets and
 * marks are the increases of `delivered` and `delivered_ce`, as in the kernel's DCTCP. With Accurate
 * ECN these marks are the other end's count; otherwise an acknowledgement with ECE marks all that it
 * delivers, and the receiver's weft_echo makes that exact. The order of
 * events and the conditions for growth are those of the packet level (weft-packet,
 * transport/tcp/ack.rs), with one exception: whether the window was used is decided as in
 * tcp_is_cwnd_limited().
 */
#include "socket.h"

#define WEFT_PASTE_(a, b) a##b
#define WEFT_PASTE(a, b) WEFT_PASTE_(a, b)
#define WEFT_TEXT_(a) #a
#define WEFT_TEXT(a) WEFT_TEXT_(a)
#define ON(event) WEFT_PASTE(ALGORITHM, _on_##event)

#ifndef ALGORITHM_ROWS
#define ALGORITHM_ROWS 0
#endif
#ifndef ALGORITHM_DELAYS
#define ALGORITHM_DELAYS 0
#endif
#ifndef ALGORITHM_SHARES
#define ALGORITHM_SHARES 0
#endif
#if ALGORITHM_SHARES
#define REACTS_TO_MARK WEFT_PASTE(ALGORITHM, _reacts_to_mark)
#else
#define REACTS_TO_MARK(c, s) 1
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#if ALGORITHM_ROWS
#define ROWS(event) WEFT_PASTE(ALGORITHM, _rows_##event)

/* Socket storage: the kernel frees an entry together with its socket. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct WEFT_PASTE(ALGORITHM, _rows));
} rows SEC(".maps");

/* Creates the rows of a socket, or clears those of an earlier use. */
static __always_inline bool weft_make_rows(struct sock *sk)
{
	struct WEFT_PASTE(ALGORITHM, _rows) *own = bpf_sk_storage_get(&rows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (own)
		__builtin_memset(own, 0, sizeof(*own));
	return own;
}
#endif

/* Sets the window of the socket. */
static __always_inline void weft_hand_over(struct sock *sk, struct weft_window *w)
{
#if ALGORITHM_SHARES
	/*
	 * Data that was assigned before the subflow became inactive leaves it two packets at a
	 * time.
	 */
	if (!w->active && w->cwnd > 2 * WEFT_PACKET)
		w->cwnd = 2 * WEFT_PACKET;
#endif
	weft_publish(sk, w);
}

#if ALGORITHM_SHARES || ALGORITHM_ACTIVE
/* MPTCP_SEND_BURST_SIZE, rounded up. */
#define WEFT_UNSENT_LIMIT (1 << 16)

/*
 * Limits the unsent data of a subflow while another one is inactive. The scheduler assigns bursts
 * to a subflow until its send buffer is full, and a buffer that once held a large window has room
 * for megabytes. If the subflow becomes inactive, they leave it two packets at a time, in addition
 * to the windows of the others. Otherwise no limit applies: paths whose round-trip times differ
 * need unsent data on the shorter one.
 */
static __always_inline void weft_limit_unsent(struct sock *sk, const struct weft_connection *c)
{
	struct weft_private *ca = weft_private(sk);
	__u32 limit = weft_has_inactive(c) ? WEFT_UNSENT_LIMIT : 0;

	if (ca->unsent_limit == limit)
		return;
	ca->unsent_limit = limit;
	bpf_setsockopt(sk, SOL_TCP, TCP_NOTSENT_LOWAT, &limit, sizeof(limit));
}
#endif

static __always_inline struct weft_connection *weft_attach(struct sock *sk)
{
	struct weft_connection *c;
	__u32 s;

#if ALGORITHM_ROWS
	if (!weft_make_rows(sk))
		return NULL;
#endif
	c = weft_take_slot(sk, ALGORITHM_ID);
	if (!c)
		return NULL;
	s = weft_private(sk)->slot % WEFT_SUBFLOWS;
	ON(open)(c, &parameters, s);
	if (c->token)
		weft_notify_limited(sk, c, s, WEFT_JOINED);
#if ALGORITHM_SHARES
	if (c->token && !c->w[s].active)
		weft_notify_limited(sk, c, s, WEFT_DEACTIVATE);
	/* The share is less than the kernel's initial window. */
	weft_hand_over(sk, &c->w[s]);
#endif
	return c;
}

/* Switches the socket to Reno: it no longer sends ECT and is not coupled. */
static __always_inline void weft_fall_back(struct sock *sk)
{
	char reno[] = "reno";

	bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
}

/*
 * Returns the state that weft_notify_change() compares with: the mask of active subflows, or
 * whether subflows are suppressed.
 */
static __always_inline __u32 weft_before_change(struct weft_connection *c)
{
	return ALGORITHM_SHARES ? weft_active(c) : c->suppressed;
}

/*
 * Notifies the daemon if an event of @sk has activated or deactivated subflows. Without a socket
 * the daemon caused the event.
 */
static __always_inline void weft_notify_change(struct sock *sk, struct weft_connection *c, __u32 before)
{
	if (ALGORITHM_SHARES)
		weft_notify_active(sk, c, before);
	else if (ALGORITHM_ACTIVE)
		weft_notify_suppression(sk, c, before);
}

/* Removes subflow s from the algorithm. @sk is its socket, or NULL if the socket no longer exists. */
static __always_inline void weft_close(struct sock *sk, struct weft_connection *c, __u32 s)
{
	__u32 before;

	c->w[s].established = 0;
	before = weft_before_change(c);
	ON(close)(c, &parameters, s);
	weft_notify_change(sk, c, before);
}

/* Releases the slot of a socket, if it has one. */
static __always_inline void weft_detach(struct sock *sk)
{
	struct weft_connection *c = weft_find(sk);
	struct weft_private *ca = weft_private(sk);
	__u32 s = ca->slot % WEFT_SUBFLOWS;

	if (c) {
		weft_close(sk, c, s);
		if (c->token)
			weft_notify_limited(sk, c, s, WEFT_LEFT);
		weft_give_back(c, ca->key, s);
	}
	ca->key = 0;
}

/* Fewer packets than these may all be lost in a queue. */
#define WEFT_FAILED_PACKETS 5
/* us for which another subflow progressed after the last acknowledgement: half of the least timeout. */
#define WEFT_FAILED_US 100000

/*
 * Records a timeout of subflow s. Notifies the daemon if the path has probably failed, because another
 * subflow progressed meanwhile and this one had timed out before, with no progress since, or lost a
 * whole window, of which the receiver has reported no packet.
 * A pause of the whole host stops all subflows, so the other one must have progressed for some time.
 *
 * icsk_retransmits does not include this timeout (tcp_retransmit_timer).
 */
static __always_inline void weft_record_timeout(struct sock *sk, struct weft_connection *c, __u32 s)
{
	struct weft_subflow *subflow = &c->subflow[s];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	bool again = ((struct inet_connection_sock *)sk)->icsk_retransmits;
	bool all_lost = tp->packets_out >= WEFT_FAILED_PACKETS && !tp->sacked_out;
	__u64 after = again ? subflow->timed_out_at : subflow->last_ack + WEFT_FAILED_US;

	subflow->timeouts++;
	if (c->token && (again || all_lost) && weft_has_progressed(c, s, after))
		weft_notify_limited(sk, c, s, WEFT_FAILED);
	subflow->timed_out_at = tp->tcp_mstamp;
}

/* Takes a slot, or falls back to Reno. The handshake has already decided whether ECN is used. */
static __always_inline void weft_begin(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (ALGORITHM_ECN && !(tp->ecn_flags & TCP_ECN_MODE_ANY)) {
		weft_count(without_ecn);
		weft_notify_uncoupled(sk, ALGORITHM_ID, WEFT_NO_ECN);
		weft_fall_back(sk);
	} else if (!weft_attach(sk)) {
		weft_count(without_slot);
		weft_notify_uncoupled(sk, ALGORITHM_ID, WEFT_NO_SLOT);
		weft_fall_back(sk);
	}
}

/*
 * Returns the connection of a socket without a slot, after taking one, or NULL. A socket without a
 * key chose its algorithm before its SYN was answered, or the kernel did not call init; without
 * this it would keep its initial window.
 */
static __always_inline struct weft_connection *weft_resume(struct sock *sk)
{
	if (sk->__sk_common.skc_state == TCP_SYN_SENT)
		return NULL;
	/* The last other subflow deleted the connection while this one took its slot. */
	if (weft_private(sk)->key)
		return weft_attach(sk);
	weft_begin(sk);
	return weft_find(sk);
}

SEC("struct_ops")
void BPF_PROG(weft_init, struct sock *sk)
{
	struct weft_private *ca = weft_private(sk);

	ca->key = 0;
	ca->prior_rcv_nxt = ((struct tcp_sock *)sk)->rcv_nxt;
	ca->ce_state = 0;
	ca->bulk = 0;
	ca->received = 0;
	ca->reduces = 0;
	ca->unsent_limit = 0;
	/*
	 * An algorithm chosen while the SYN is in flight, as weft_scope does: the kernel does not
	 * call init again when the SYN is answered.
	 */
	if (sk->__sk_common.skc_state != TCP_SYN_SENT)
		weft_begin(sk);
}

SEC("struct_ops")
void BPF_PROG(weft_release, struct sock *sk)
{
	weft_detach(sk);
}

/**
 * weft_reap() - Frees the slot of a socket that the kernel closed without calling weft_release
 * @lost: the slot and its owner
 *
 * If the socket still exists, it detects that it does not own the slot any more and takes another
 * one with its next acknowledgement.
 *
 * Return: 0 if the slot was freed, 1 if its owner has changed.
 */
SEC("syscall")
int weft_reap(struct weft_lost *lost)
{
	__u32 s = lost->slot % WEFT_SUBFLOWS, owner = lost->owner;
	__u64 key = lost->key;
	struct weft_connection *c;

	c = bpf_map_lookup_elem(&connections, &key);
	if (!c || __sync_val_compare_and_swap(&c->subflow[s].owner, owner, 0) != owner)
		return 1;
	weft_close(NULL, c, s);
	weft_give_back(c, key, s);
	return 0;
}

#if ALGORITHM_ACTIVE
/*
 * Finds the subflows that had no acknowledgement for two round-trip times, of the subflow or of the
 * initial one, whichever is longer. Idle subflows neither count towards suppression nor block it.
 */
static __always_inline void weft_find_idle(struct weft_connection *c, __u64 now)
{
	__u32 s, srtt, idle = 0, own = c->w[c->initial % WEFT_SUBFLOWS].srtt;

	for (s = 0; s < WEFT_SUBFLOWS; s++) {
		srtt = c->w[s].srtt > own ? c->w[s].srtt : own;
		/* srtt is in 1/8 us, so srtt >> 2 is two round-trip times. */
		if ((__s64)(now - c->subflow[s].last_ack) > (srtt >> 2))
			idle |= 1U << s;
	}
	c->idle = idle;
}
#endif

SEC("struct_ops")
void BPF_PROG(weft_cong_control, struct sock *sk)
{
	struct weft_private *ca = weft_private(sk);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct weft_connection *c = weft_find(sk);
	__u32 acked, marked, una, before, s;
	struct weft_subflow *subflow;
	struct weft_window *w;
	bool forward, after_cut;
	__u8 state;
#if ALGORITHM_ROWS
	struct WEFT_PASTE(ALGORITHM, _rows) *own;
#endif

	if (!c) {
		c = weft_resume(sk);
		if (!c)
			return;
	}
#if ALGORITHM_ROWS
	own = bpf_sk_storage_get(&rows, sk, NULL, 0);
	if (!own)
		return;
#endif
	s = ca->slot % WEFT_SUBFLOWS;
	w = &c->w[s];
	subflow = &c->subflow[s];
	state = weft_ca_state(sk);

	acked = tp->delivered - ca->delivered;
	marked = tp->delivered_ce - ca->delivered_ce;
	una = tp->snd_una;
	forward = una != ca->una;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
	ca->una = una;
	ca->round_acked += acked;
	ca->round_marked += marked;
	subflow->acked += acked;
	subflow->marked += marked;
	if (acked) {
		subflow->last_ack = tp->tcp_mstamp;
#if ALGORITHM_SHARES
		subflow->last_sent = tp->rack.mstamp;
		c->newest_ack = tp->tcp_mstamp;
#endif
	}
	w->srtt = tp->srtt_us;
	w->in_recovery = state >= TCP_CA_Recovery;
#if ALGORITHM_SHARES
	if (acked)
		WEFT_PASTE(ALGORITHM, _on_ack_after_cut)(c, s);
#endif

	if (forward && !weft_before(una, ca->round_end)) {
		before = weft_before_change(c);
		subflow->rounds++;
		subflow->sent = tp->bytes_acked;
		subflow->received = tp->bytes_received;
#if ALGORITHM_ACTIVE
		if (s == c->initial)
			weft_find_idle(c, tp->tcp_mstamp);
#endif
#if ALGORITHM_ROWS
		ROWS(round)(own, w);
#endif
		ON(round)(c, &parameters, s, ca->round_acked, ca->round_marked);
		weft_notify_change(sk, c, before);
#if ALGORITHM_SHARES || ALGORITHM_ACTIVE
		weft_limit_unsent(sk, c);
#endif
		ca->round_acked = 0;
		ca->round_marked = 0;
		ca->round_end = tp->snd_nxt;
	}
#if ALGORITHM_ROWS
	/*
	 * Duplicate acknowledgements count as well, with and without SACK. An acknowledgement that
	 * delivers nothing is not about any packet.
	 */
	if (acked)
		ROWS(ack)(own, w, &parameters, acked, marked);
#endif
	/* Acknowledgements of data sent before a cut neither grow the window nor cut it again. */
	after_cut = weft_before(ca->cut_end, una);
	if (after_cut)
		/*
		 * Follows una at a distance of one, so that the comparison survives a wrap of
		 * sequence numbers.
		 */
		ca->cut_end = una - 1;
	if (forward && after_cut && acked && state != TCP_CA_Recovery &&
	    (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
	     (w->cwnd < w->ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out)))
		ON(ack)(c, &parameters, s, acked, marked);
	if (marked && after_cut && state < TCP_CA_Recovery && REACTS_TO_MARK(c, s)) {
		ca->cut_end = tp->snd_nxt;
		subflow->marks++;
		ON(mark)(c, &parameters, s);
	}
	weft_hand_over(sk, w);
	weft_notify_bulk(sk);
}

#if ALGORITHM_DELAYS
/* The sample is negative if the acknowledgement has none (Karn). */
SEC("struct_ops")
void BPF_PROG(weft_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct weft_connection *c = weft_find(sk);
	__s32 rtt = sample->rtt_us;

	if (c && rtt >= 0)
		ON(sample)(c, weft_private(sk)->slot % WEFT_SUBFLOWS, rtt);
}
#endif

SEC("struct_ops")
void BPF_PROG(weft_set_state, struct sock *sk, __u8 state)
{
	struct weft_connection *c = weft_find(sk);
	struct weft_private *ca = weft_private(sk);
	__u32 s = ca->slot % WEFT_SUBFLOWS, before, first;
	struct weft_subflow *subflow;
	struct weft_window *w;

	/* Linux's DCTCP reduces the window for a loss in CWR too, but not for a timeout in CWR. */
	first = state == TCP_CA_Loss ? ca->reduces : weft_ca_state(sk) < TCP_CA_Recovery;
	ca->reduces = 0;
	if (!c || state < TCP_CA_Recovery)
		return;
	w = &c->w[s];
	subflow = &c->subflow[s];
	before = weft_before_change(c);
	if (first)
		weft_save_prior(c, s);
	w->in_recovery = 1;
	if (state == TCP_CA_Loss) {
		weft_record_timeout(sk, c, s);
		ON(timeout)(c, &parameters, s, first);
		weft_notify_change(sk, c, before);
	} else if (first) {
		subflow->fast_retransmits++;
		ON(fast_retransmit)(c, &parameters, s);
	}
	weft_hand_over(sk, w);
}

/*
 * Returns the current threshold, because set_state and cong_control set the window. The kernel
 * calls this before a recovery that reduces the window. It does not if the same segment times out
 * again, or in a recovery that has already reduced the window (tcp_enter_loss,
 * tcp_init_cwnd_reduction).
 */
SEC("struct_ops")
__u32 BPF_PROG(weft_ssthresh, struct sock *sk)
{
	weft_private(sk)->reduces = 1;
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

SEC("struct_ops")
__u32 BPF_PROG(weft_undo_cwnd, struct sock *sk)
{
	struct weft_connection *c = weft_find(sk);
	__u32 s = weft_private(sk)->slot % WEFT_SUBFLOWS, before;

	if (!c)
		return ((struct tcp_sock *)sk)->snd_cwnd;
	before = weft_before_change(c);
	ON(undo)(c, &parameters, s);
	weft_notify_change(sk, c, before);
	return c->w[s].cwnd >> WEFT_PACKET_BITS;
}

/* MPTCP_SEND_BURST_SIZE: how much the scheduler assigns to a subflow ahead of its window. */
#define WEFT_BURST ((1 << 16) - 108)
/* Minimum window for which buffers are dimensioned: TCP_INIT_CWND. */
#define WEFT_MIN_WINDOW 10

/*
 * Returns the size of a send buffer in windows; the kernel's default is 2. The scheduler assigns a
 * whole burst to a subflow, which keeps the part that exceeds its window. If many subflows have
 * small windows, that part fills the buffer of the connection, which is the sum of the subflows'
 * buffers, and the other subflows are blocked. Each buffer therefore has room for a burst as well.
 */
SEC("struct_ops")
__u32 BPF_PROG(weft_sndbuf_expand, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 window = tp->snd_cwnd > WEFT_MIN_WINDOW ? tp->snd_cwnd : WEFT_MIN_WINDOW, burst;

	if (!bpf_core_field_exists(tp->is_mptcp) || !tp->is_mptcp || !tp->mss_cache)
		return 2;
	burst = (WEFT_BURST + tp->mss_cache - 1) / tp->mss_cache;
	return 2 + (burst + window - 1) / window;
}

#if ALGORITHM_ECN
SEC("struct_ops")
void BPF_PROG(weft_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE) {
		weft_echo(sk, event == CA_EVENT_ECN_IS_CE);
		/*
		 * A socket that sends nothing receives no acknowledgements, so it takes its slot
		 * here.
		 */
		if (!weft_private(sk)->key)
			weft_resume(sk);
		weft_notify_bulk(sk);
		weft_record_received(sk);
	}
}
#endif

/* Kernels before 6.4 have no links; user space then loads it without one. */
SEC(".struct_ops.link")
struct tcp_congestion_ops WEFT_PASTE(weft_, ALGORITHM) = {
	.init = (void *)weft_init,
	.release = (void *)weft_release,
	.ssthresh = (void *)weft_ssthresh,
	.set_state = (void *)weft_set_state,
	.cong_control = (void *)weft_cong_control,
	.undo_cwnd = (void *)weft_undo_cwnd,
	.sndbuf_expand = (void *)weft_sndbuf_expand,
#if ALGORITHM_DELAYS
	.pkts_acked = (void *)weft_pkts_acked,
#endif
#if ALGORITHM_ECN
	.cwnd_event = (void *)weft_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
#else
	.flags = TCP_CONG_NON_RESTRICTED,
#endif
	.name = WEFT_TEXT(WEFT_PASTE(weft_, ALGORITHM)),
};
