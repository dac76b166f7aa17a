/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * LIA, the coupled congestion control of MPTCP: RFC 6356, section 3, equations (1) and (2). The
 * behaviour is that of lia.rs of weft-cc, event by event; lia.rs documents the choices that the RFC
 * leaves open.
 *
 * Deviations: equation (2) is divided by cwnd_total and expanded by the round-trip time of the
 * subflow b with the largest cwnd / rtt^2, so that all numbers fit 64 bits:
 *
 *   alpha / cwnd_total = cwnd_b / y^2,  y = rtt_b * sum_r cwnd_r / rtt_r
 *
 * It holds for windows below 2^19 packets whose round-trip times differ by a factor of less than
 * 2^11. In the kernel `beta` is 0: the algorithm does not ask for ECN, and a mark that is echoed
 * nevertheless counts as a loss (RFC 3168, section 6.1.2).
 */
#ifndef WEFT_LIA_H
#define WEFT_LIA_H

#include "weft.h"

#define LIA_RATE_BITS 14
#define LIA_INCREASE_BITS 38
#define LIA_UNCOUPLED (~0ULL)

/* Equation (2), divided by cwnd_total. */
static inline void lia_update_increase(struct weft_connection *c)
{
	__u64 rate, total = 0, best = 0, cwnd = 0, y;
	__u32 r, srtt = 0;

	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		struct weft_window *w = &c->w[r];

		if (!w->established || !w->srtt)
			continue;
		rate = (w->cwnd << LIA_RATE_BITS) / w->srtt;
		total += rate;
		/* rate / w->srtt > best / srtt, without divisions */
		if (!srtt || (rate >> 4) * srtt > (best >> 4) * w->srtt) {
			best = rate;
			srtt = w->srtt;
			cwnd = w->cwnd;
		}
	}
	y = total * srtt >> LIA_RATE_BITS;
	if (y < cwnd)
		y = cwnd;
	if (!y)
		c->increase = LIA_UNCOUPLED;
	else
		c->increase = (1ULL << (WEFT_PACKET_BITS + LIA_INCREASE_BITS)) / y * cwnd / y;
}

static inline void lia_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	lia_update_increase(c);
}

/* Equation (1). */
static inline void lia_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
			      __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 left, increase, reno;

	if (p->per_ack)
		lia_update_increase(c);
	left = weft_avoidance(w, acked);
	if (!left)
		return;
	increase = c->increase;
	reno = (1ULL << (WEFT_PACKET_BITS + LIA_INCREASE_BITS)) / w->cwnd;
	if (increase > reno)
		increase = reno;
	/* 2^-16 packets times a factor in 2^-32 */
	w->cwnd += ((left >> 8) * (increase >> 6) + (1 << 23)) >> 24;
}

/* With beta: "MPTCP (beta = 4)" of AMP's paper, section 4.1 (3). */
static inline void lia_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	if (p->beta)
		weft_cut(&c->w[s], p);
	else
		weft_halve_to(&c->w[s], p->cwnd_min);
	lia_update_increase(c);
}

static inline void lia_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 acked, __u32 marked)
{
	lia_update_increase(c);
}

static inline void lia_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_halve_to(&c->w[s], p->cwnd_min);
	lia_update_increase(c);
}

static inline void lia_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	weft_collapse_to(&c->w[s], first, p->cwnd_min);
	lia_update_increase(c);
}

static inline void lia_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_undo(c, s);
	lia_update_increase(c);
}

static inline void lia_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	lia_update_increase(c);
}

#endif
