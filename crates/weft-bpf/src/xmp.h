/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * XMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (text of
 * October 2020), section 2.2, equation (3). That section follows Cao et al., "Explicit Multipath
 * Congestion Control for Data Center Networks" (2013). The behaviour is that of xmp.rs of weft-cc,
 * event by event; xmp.rs documents the choices where the paper is silent.
 *
 * Deviations: a rate is in units of 2^-38 packets per 1/8 us, delta in 2^-24 packets. Receivers
 * echo each mark (RFC 8257) instead of counting up to three in the header, which stock Linux does
 * not support; only the first mark of a window matters.
 */
#ifndef WEFT_XMP_H
#define WEFT_XMP_H

#include "weft.h"

/* State: rate at the end of the last round; 0 before the first. */
#define XMP_RATE 0
/* State: the remainder of delta, below one packet. */
#define XMP_ADDER 1
/* State: the window before the cut if a mark came in the current round, else 0. */
#define XMP_REDUCED 2
/* State: 1 if an acknowledgement in the current round allowed the window to grow. */
#define XMP_MAY_GROW 3

#define XMP_RATE_BITS 14

static inline __u64 xmp_whole(__u64 cwnd)
{
	return cwnd & ~(WEFT_PACKET - 1);
}

/* Equation (3), in packets per round of s. The sum includes s. */
static inline __u64 xmp_delta(const struct weft_connection *c, __u32 s)
{
	__u64 total = 0, rate = c->w[s].state[XMP_RATE];
	__u32 r, rtt_min = ~0U;

	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		if (!c->w[r].established || !c->w[r].state[XMP_RATE])
			continue;
		total += c->w[r].state[XMP_RATE];
		if (c->w[r].srtt < rtt_min)
			rtt_min = c->w[r].srtt;
	}
	/* Keeps the product below within 64 bits. */
	if (total >> 40) {
		total >>= 20;
		rate >>= 20;
	}
	if (!total || !rtt_min)
		return 0;
	/* Rounded up, so that the parts of equal subflows add up to whole packets. */
	return ((rate << WEFT_PACKET_BITS) / total + 1) * c->w[s].srtt / rtt_min;
}

/* Rounds the window after a loss to whole packets, and adapts the rate to it. */
static inline void xmp_on_loss(struct weft_window *w)
{
	w->cwnd = xmp_whole(w->cwnd);
	w->ssthresh = xmp_whole(w->ssthresh);
	if (w->state[XMP_REDUCED])
		w->state[XMP_REDUCED] = w->cwnd;
	if (w->state[XMP_RATE] && w->srtt)
		w->state[XMP_RATE] = (w->cwnd << XMP_RATE_BITS) / w->srtt;
}

static inline void xmp_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].state[XMP_RATE] = 0;
	c->w[s].state[XMP_ADDER] = 0;
	c->w[s].state[XMP_REDUCED] = 0;
	c->w[s].state[XMP_MAY_GROW] = 0;
}

/* Slow start only: congestion avoidance grows at the end of a round. */
static inline void xmp_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
			      __u32 acked, __u32 marked)
{
	c->w[s].state[XMP_MAY_GROW] = 1;
	if (!marked)
		weft_avoidance(&c->w[s], acked);
}

/* For the first marked ACK in a window: w_s <- w_s (1 - 1 / beta). */
static inline void xmp_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 cut;

	w->state[XMP_REDUCED] = w->cwnd;
	if (w->cwnd >= w->ssthresh && p->beta) {
		cut = xmp_whole((w->cwnd << 20) / p->beta);
		if (cut < WEFT_PACKET)
			cut = WEFT_PACKET;
		w->cwnd = w->cwnd > cut + p->cwnd_min ? w->cwnd - cut : p->cwnd_min;
	}
	if (w->ssthresh > w->cwnd)
		w->ssthresh = w->cwnd;
}

/* For every window of data on subflow s: w_s <- w_s + delta_s. */
static inline void xmp_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 before_cut = w->state[XMP_REDUCED], may_grow = w->state[XMP_MAY_GROW], saved;

	w->state[XMP_REDUCED] = 0;
	w->state[XMP_MAY_GROW] = 0;
	if (!w->srtt)
		return;
	w->state[XMP_RATE] = ((before_cut ? before_cut : w->cwnd) << XMP_RATE_BITS) / w->srtt;
	if (before_cut || !may_grow || w->in_recovery || w->cwnd < w->ssthresh)
		return;
	saved = w->state[XMP_ADDER] + xmp_delta(c, s);
	w->state[XMP_ADDER] = saved & (WEFT_PACKET - 1);
	w->cwnd += xmp_whole(saved);
}

/* For each loss: w_s <- w_s / 2. */
static inline void xmp_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_halve(&c->w[s]);
	xmp_on_loss(&c->w[s]);
}

static inline void xmp_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	__u64 held = c->w[s].ssthresh;

	weft_collapse(&c->w[s], first);
	xmp_on_loss(&c->w[s]);
	if (!first)
		c->w[s].ssthresh = held;
}

static inline void xmp_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_undo(c, s);
	if (c->w[s].state[XMP_RATE] < c->subflow[s].prior_state[XMP_RATE])
		c->w[s].state[XMP_RATE] = c->subflow[s].prior_state[XMP_RATE];
}

static inline void xmp_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

#endif
