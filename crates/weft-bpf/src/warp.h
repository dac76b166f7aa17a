/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * Warp: research/warp/law.md describes the law. The behaviour is that of warp.rs of weft-cc, event by
 * event.
 *
 * Terms: W is the sum of the shares of all sending subflows, m their number. A subflow sends if it
 * is established and active. It works if it sends, is not in recovery, has not timed out since its
 * last round, and had an acknowledgement within WARP_MAX_SILENCE_RTTS round-trip times.
 *
 * Deviations: shares are in units of 2^-24 packets; alpha, marks and kappa are in 2^-30; products
 * and quotients are rounded to the nearest unit. Time is the kernel's TCP clock, in microseconds.
 * Once slow start has ended, a round activates no subflow and starts no trial until
 * parameters.min_inactive has passed since the last deactivation. Until then, the data that was
 * already assigned to the inactive subflow leaves, two packets at a time. In the native build
 * min_inactive is 0.
 *
 * Concurrency: subflows run on several CPUs at the same time, and each may write the shares and
 * windows of all subflows. A share that several subflows may change at once is changed by atomic
 * addition. It is assigned only when its subflow is opened, activated, deactivated, timed out or
 * restored. Growth at an acknowledgement is lost if another subflow has changed the share in the
 * meantime. Of two subflows that cut at the same time, only one succeeds. Of several rounds that
 * end at the same time, only one moves shares; the others skip that step without waiting. Only a
 * subflow's own event sets the window in the kernel, so the other subflows apply a cut at their
 * next acknowledgement, before they can send again.
 */
#ifndef WEFT_WARP_H
#define WEFT_WARP_H

#include "warp_activity.h"

/* Moves a part of the share of s to the other working subflows. */
WARP_FUNCTION warp_shift(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	__u64 total = 0, others, share, marked = 0, mean, moved, part, gets = 0, counts;
	struct weft_window *w = &c->w[s];
	__u32 r, shift;

	if (!warp_is_sending(w) || warp_is_on_its_own(c, s))
		return 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		gets |= (warp_is_working(c, r, s) & (1 - warp_is_on_its_own(c, r))) << r;
	gets &= ~(1ULL << s);
	counts = gets | 1ULL << s;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]) * (counts >> r & 1);
		total += share;
		marked += warp_times(share, c->w[r].state[WARP_MARKED]);
	}
	share = warp_share(w);
	others = total - share;
	if (!others)
		return 0;
	w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	mean = warp_ratio(marked, total);
	if (w->state[WARP_MARKED] <= mean)
		return 0;
	moved = warp_times(share, (w->state[WARP_MARKED] - mean) * p->kappa >> WARP_BITS);
	warp_move(w, share, share - moved);
	/* Above 512 packets the lowest bits are negligible. */
	shift = others >> 33 ? 13 : 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]) * (gets >> r & 1);
		part = ((share >> shift << WARP_BITS) + (others >> shift) / 2) / (others >> shift);
		warp_move(&c->w[r], 0, warp_times(moved, part));
	}
	return 0;
}

/*
 * Activates a subflow if none sends: the first one that has not timed out twice, otherwise the
 * first established one.
 */
WARP_FUNCTION warp_ensure_one_active(struct weft_connection *c)
{
	__u64 all = warp_alive_subflows(c);
	__u32 r;

	if (warp_sending_subflows(c))
		return 0;
	if (!all) {
		WARP_RARE
		for (r = 0; r < WEFT_SUBFLOWS; r++)
			all |= (__u64)(c->w[r].established & 1) << r;
	}
	if (!all)
		return 0;
	r = warp_lowest(all);
	c->w[r].state[WARP_SHARE] = c->w[r].cwnd;
	c->w[r].active = 1;
	return 0;
}

/*
 * Returns 1 if only the subflow that cut was sending. Then weft_cong_control() has checked that the
 * acknowledged data was sent after the cut.
 */
static inline int warp_was_single(const struct weft_connection *c)
{
	return !c->unacked_since_cut && !c->all_acked_at;
}

/* Returns 1 if the newest acknowledgement of s covers data that was sent after this cut. */
static inline int warp_after_cut(const struct weft_connection *c, __u64 cut, __u32 s)
{
	return warp_was_single(c) || c->subflow[s].last_sent >= cut >> WARP_CUTTER_BITS;
}

/*
 * Returns 1 if that data was also sent after every sending subflow had an acknowledgement since the
 * cut. Returns 0 while another subflow updates unacked_since_cut.
 */
static inline int warp_sent_after_all_acked(const struct weft_connection *c, __u64 cut, __u32 s)
{
	return !c->unacked_since_cut && c->subflow[s].last_sent >= c->all_acked_at && warp_after_cut(c, cut, s);
}

/* Returns 1 if a mark on s cuts windows. */
static inline int warp_reacts_to_mark(const struct weft_connection *c, __u32 s)
{
	return warp_is_on_its_own(c, s) || warp_sent_after_all_acked(c, c->cut, s);
}

/*
 * Records that s had an acknowledgement since the last cut. Other subflows that have nothing in
 * flight are waited for at most one round-trip time.
 */
static inline void warp_on_ack_after_cut(struct weft_connection *c, __u32 s)
{
	__u64 now = c->subflow[s].last_ack;
	__s64 waited = now - (c->cut >> WARP_CUTTER_BITS);
	__u32 others = ~(1U << s);

	if (!c->unacked_since_cut)
		return;
	others &= __sync_fetch_and_and(&c->unacked_since_cut, others);
	/* srtt is in 1/8 us. */
	if (others && waited * 8 <= (__s64)c->w[s].srtt)
		return;
	c->all_acked_at = now;
	c->unacked_since_cut = 0;
}

WARP_FUNCTION warp_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 total, m;

	warp_set_own_marks(c, s, 0);
	warp_set_marked_rounds(c, s, 0);
	__sync_fetch_and_and(&c->crowded, ~(1U << s));
	w->active = 0;
	w->state[WARP_SHARE] = 0;
	w->state[WARP_ALPHA] = p->alpha0;
	w->state[WARP_MARKED] = 0;
	w->state[WARP_TIMEOUTS] = 0;
	c->subflow[s].last_ack = c->newest_ack;
	m = warp_sending_total(c, &total);
	if (!m) {
		w->state[WARP_SHARE] = w->cwnd;
		w->active = 1;
	} else if (!c->tried && warp_has_room(m, total) && warp_begin(c)) {
		warp_activate(c, s);
		warp_end(c);
		warp_apportion_without_raising(c, s);
	}
	/* Once a path has had a mark or a loss, subflows that join later have no slow start. */
	if (c->left_slow_start)
		w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	return 0;
}

WARP_FUNCTION warp_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
			       __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 was = w->state[WARP_SHARE], share = warp_share(w), left, most, m = 0, parts;
	__u32 r;

	for (r = 0; r < WEFT_SUBFLOWS; r++)
		m += warp_is_sending(&c->w[r]);
	if (!w->active || !m || (!warp_is_on_its_own(c, s) && !warp_after_cut(c, c->cut, s)))
		return 0;
	parts = warp_own_marks(c, s) ? 1 : m;
	/* Slow start works on the share; the window is its integer part. */
	if (w->cwnd >= w->ssthresh)
		w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	left = weft_avoidance_of(&share, w->cwnd < w->ssthresh ? w->ssthresh : 0, acked);
	if (!share)
		share = 1;
	share += ((left << WEFT_PACKET_BITS) + parts * share / 2) / (parts * share);
	if (share > WEFT_CWND_MAX)
		share = WEFT_CWND_MAX;
	__sync_val_compare_and_swap(&w->state[WARP_SHARE], was, share);
	/* After a cut a window may be more than one packet below its share. */
	most = w->cwnd + ((__u64)acked << WEFT_PACKET_BITS);
	if (m > 1) {
		warp_apportion(c);
	} else {
		w->cwnd = share & ~(WEFT_PACKET - 1);
		if (w->cwnd < warp_min_window(w))
			w->cwnd = warp_min_window(w);
	}
	if (w->cwnd > most)
		w->cwnd = most;
	return 0;
}

/* Cuts subflow s alone, which is on its own. */
static inline void warp_cut_on_its_own(struct weft_connection *c, __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 share = warp_share(w), left;

	left = warp_times(share, (1ULL << WARP_BITS) - w->state[WARP_ALPHA] / 2);
	warp_move(w, share, left);
	warp_set_own_marks(c, s, (warp_in_slow_start(w) ? WARP_OWN_MARKS : warp_own_marks(c, s)) - 1);
}

WARP_FUNCTION warp_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	__u64 cut = c->cut, now = c->subflow[s].last_ack, share, left, is_cut;
	__u32 r;

	if (warp_is_on_its_own(c, s)) {
		warp_cut_on_its_own(c, s);
		goto apportion;
	}
	if (!warp_sent_after_all_acked(c, cut, s) ||
	    __sync_val_compare_and_swap(&c->cut, cut, now << WARP_CUTTER_BITS | s) != cut)
		return 0;
	c->unacked_since_cut = warp_sending_subflows(c) & ~(1ULL << s);
	c->all_acked_at = 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]);
		left = warp_times(share, (1ULL << WARP_BITS) - c->w[r].state[WARP_ALPHA] / 2);
		is_cut = (1 - warp_is_on_its_own(c, r)) & warp_is_sending(&c->w[r]);
		warp_move(&c->w[r], 0, (left - share) * is_cut);
		c->w[r].ssthresh -= (c->w[r].ssthresh - WARP_SSTHRESH_AFTER_SLOW_START) * is_cut;
	}
apportion:
	warp_apply_min_window(c);
	warp_apportion_without_raising(c, s);
	warp_leave_slow_start(c, s);
	return 0;
}

WARP_FUNCTION warp_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				 __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 rounds;

	w->state[WARP_TIMEOUTS] = 0;
	w->state[WARP_ALPHA] = dctcp_estimate(w->state[WARP_ALPHA], p->g, acked, marked);
	if (acked) {
		w->state[WARP_MARKED] = warp_ratio(marked < acked ? marked : acked, acked);
		rounds = warp_marked_rounds(c, s);
		rounds += rounds <= WARP_MARKED_ROUNDS;
		warp_set_marked_rounds(c, s, 2ULL * marked >= acked ? rounds : 0);
	}
	if (warp_begin(c)) {
		/*
		 * If the last two sending subflows stop at the same time, each may leave the
		 * connection to the other.
		 */
		warp_ensure_one_active(c);
		warp_shift(c, p, s);
		warp_adjust_active(c, p, s, acked, marked);
		warp_end(c);
	}
	warp_apportion(c);
	/*
	 * Acknowledgements of an inactive subflow do not grow its window, so it would keep the one
	 * packet that a timeout left.
	 */
	if (!w->active && w->cwnd < WARP_MIN_CONNECTION_WINDOW)
		w->cwnd = WARP_MIN_CONNECTION_WINDOW;
	return 0;
}

WARP_FUNCTION warp_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p,
					   __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 share = warp_share(w);

	warp_set_own_marks(c, s, 0);
	if (warp_is_sending(w)) {
		warp_move(w, share, share / 2);
		warp_apply_min_window(c);
		warp_apportion_without_raising(c, s);
	} else {
		w->cwnd = w->cwnd / 2 & ~(WEFT_PACKET - 1);
		if (w->cwnd < warp_min_window(w))
			w->cwnd = warp_min_window(w);
	}
	warp_leave_slow_start(c, s);
	return 0;
}

WARP_FUNCTION warp_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	struct weft_window *w = &c->w[s];
	__u64 half = w->cwnd / 2;

	c->left_slow_start = 1;
	warp_set_own_marks(c, s, 0);
	w->cwnd = WEFT_PACKET;
	w->state[WARP_TIMEOUTS]++;
	if (half < 2 * WEFT_PACKET)
		half = 2 * WEFT_PACKET;
	if (first)
		w->ssthresh = half;
	if (!w->active)
		return 0;
	w->state[WARP_SHARE] = WEFT_PACKET;
	if (w->state[WARP_TIMEOUTS] < 2 || !(warp_alive_subflows(c) & ~(1ULL << s)))
		return 0;
	w->active = 0;
	w->state[WARP_SHARE] = 0;
	c->deactivated = c->newest_ack;
	warp_ensure_one_active(c);
	return 0;
}

/*
 * Undoes a spurious loss or timeout: restores the share. A subflow that was deactivated after two
 * timeouts is activated.
 */
WARP_FUNCTION warp_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 share = c->subflow[s].prior_state[WARP_SHARE];

	if (share && w->state[WARP_TIMEOUTS] >= 2 && w->established)
		w->active = 1;
	w->state[WARP_TIMEOUTS] = 0;
	weft_undo(c, s);
	if (!warp_is_sending(w))
		return 0;
	if (warp_share(w) < share)
		w->state[WARP_SHARE] = share;
	warp_apportion(c);
	return 0;
}

WARP_FUNCTION warp_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].active = 0;
	c->w[s].state[WARP_SHARE] = 0;
	warp_ensure_one_active(c);
	return 0;
}

#endif
