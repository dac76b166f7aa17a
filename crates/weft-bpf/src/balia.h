/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * BALIA: Peng, Walid, Hwang and Low, "Multipath TCP: analysis, design, and implementation",
 * IEEE/ACM Transactions on Networking 24(1), 2016; draft-walid-mptcp-congestion-control-04, section
 * 3. The behaviour is that of balia.rs of weft-cc, event by event; balia.rs documents the choices
 * that both leave open.
 *
 * Deviations: the increase is written with the rates x_s of the subflow, m the largest and X the
 * sum, so that all numbers fit 64 bits:
 *
 *   x_s / rtt_s / X^2 (1 + alpha) / 2 (4 + alpha) / 5 = (x_s + m) / X (4 x_s + m) / X / (10 w_s)
 *
 * The part of the window that a loss takes is in units of 2^-20. Windows are below 2^19 packets,
 * and round-trip times above 1 us.
 */
#ifndef WEFT_BALIA_H
#define WEFT_BALIA_H

#include "rates.h"

#define BALIA_CUT_BITS 20

static inline void balia_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

static inline void balia_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 left = weft_avoidance(w, acked), one, four;
	struct weft_rates rates;

	if (!left)
		return;
	if (!w->srtt) {
		weft_grow_by(w, left, WEFT_PART);
		return;
	}
	weft_read_rates(c, s, &rates);
	one = ((rates.own + rates.most) << WEFT_PART_BITS) / rates.total;
	four = ((4 * rates.own + rates.most) << WEFT_PART_BITS) / rates.total;
	weft_grow_by(w, left, (one * four / 10) >> WEFT_PART_BITS);
}

/* w_s <- w_s - w_s / 2 min(alpha, 1.5), to no less than cwnd_min. */
static inline void balia_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];
	const __u64 half = 1ULL << (BALIA_CUT_BITS - 1);
	struct weft_rates rates;
	__u64 more = 0;

	if (w->srtt) {
		weft_read_rates(c, s, &rates);
		/* alpha - 1 */
		more = rates.own ? ((rates.most - rates.own) << BALIA_CUT_BITS) / rates.own : half;
		if (more > half)
			more = half;
	}
	w->cwnd -= w->cwnd / 2 + (w->cwnd / 2 * more >> BALIA_CUT_BITS);
	if (w->cwnd < p->cwnd_min)
		w->cwnd = p->cwnd_min;
	w->ssthresh = w->cwnd;
}

static inline void balia_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	balia_on_fast_retransmit(c, p, s);
}

static inline void balia_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				  __u32 acked, __u32 marked)
{
}

static inline void balia_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				    __u32 first)
{
	weft_collapse_to(&c->w[s], first, p->cwnd_min);
}

static inline void balia_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_undo(c, s);
}

static inline void balia_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

#endif
