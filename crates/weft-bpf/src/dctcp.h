/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * DCTCP: RFC 8257, section 3.3; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section
 * 3.1, equations (1) and (2). Subflows are not coupled. The behaviour is that of dctcp.rs of
 * weft-cc, event by event.
 *
 * Deviations: alpha is in units of 2^-30 and g in 2^-24. A cut uses alpha in 2^-20 and the window
 * in 2^-20 packets, so that products fit 64 bits.
 */
#ifndef WEFT_DCTCP_H
#define WEFT_DCTCP_H

#include "weft.h"

/* State: the estimated fraction of marked packets, in 2^-30. */
#define DCTCP_ALPHA 0
#define DCTCP_ALPHA_BITS 30
#define DCTCP_G_BITS 24

/* Equation (1): alpha <- (1 - g) alpha + g F. */
static inline __u64 dctcp_estimate(__u64 alpha, __u64 g, __u32 acked, __u32 marked)
{
	__u64 fraction;

	if (!acked)
		return alpha;
	fraction = marked >= acked ? 1ULL << DCTCP_ALPHA_BITS : ((__u64)marked << DCTCP_ALPHA_BITS) / acked;
	return (((1ULL << DCTCP_G_BITS) - g) * alpha + g * fraction + (1ULL << (DCTCP_G_BITS - 1))) >> DCTCP_G_BITS;
}

/* Equation (2): cwnd <- cwnd (1 - alpha / 2), to no less than cwnd_min. */
static inline void dctcp_cut(struct weft_window *w, __u64 alpha, const volatile struct weft_parameters *p)
{
	w->cwnd -= ((w->cwnd >> 4) * (alpha >> 10)) >> 17;
	if (w->cwnd < p->cwnd_min)
		w->cwnd = p->cwnd_min;
	w->ssthresh = w->cwnd;
}

static inline void dctcp_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].state[DCTCP_ALPHA] = p->alpha0;
}

static inline void dctcp_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 acked, __u32 marked)
{
	weft_grow(&c->w[s], acked);
}

static inline void dctcp_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	dctcp_cut(&c->w[s], c->w[s].state[DCTCP_ALPHA], p);
}

static inline void dctcp_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				  __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];

	w->state[DCTCP_ALPHA] = dctcp_estimate(w->state[DCTCP_ALPHA], p->g, acked, marked);
}

static inline void dctcp_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p,
					    __u32 s)
{
	weft_halve(&c->w[s]);
}

static inline void dctcp_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	weft_collapse(&c->w[s], first);
}

static inline void dctcp_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_undo(c, s);
}

static inline void dctcp_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

#endif
