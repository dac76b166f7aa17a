/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * DCTCP: RFC 8257, section 3.3; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1, equations (1)
 * and (2). Each subflow is on its own. Event by event the same as dctcp.rs of weft-cc.
 *
 * Deviations: alpha is kept in 2^-30, g in 2^-24, and a cut works with alpha in 2^-20 and the window in 2^-20
 * packets, so that products fit 64 bits.
 */
#ifndef WEFT_DCTCP_H
#define WEFT_DCTCP_H

#include "weft.h"

/* Slot: the estimated fraction of marked packets, in 2^-30. */
#define DCTCP_ALPHA 0
#define DCTCP_ALPHA_BITS 30

static inline void dctcp_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].slot[DCTCP_ALPHA] = p->alpha0;
}

static inline void dctcp_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 acked, __u32 marked)
{
	weft_grow(&c->w[s], acked);
}

/* Equation (2): cwnd <- cwnd (1 - alpha / 2). */
static inline void dctcp_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];

	w->cwnd -= ((w->cwnd >> 4) * (w->slot[DCTCP_ALPHA] >> 10)) >> 17;
	if (w->cwnd < p->cwnd_min)
		w->cwnd = p->cwnd_min;
	w->ssthresh = w->cwnd;
}

/* Equation (1): alpha <- (1 - g) alpha + g F. */
static inline void dctcp_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				  __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 g = p->g, fraction;

	if (!acked)
		return;
	fraction = marked >= acked ? 1ULL << DCTCP_ALPHA_BITS : ((__u64)marked << DCTCP_ALPHA_BITS) / acked;
	w->slot[DCTCP_ALPHA] = (((1ULL << 24) - g) * w->slot[DCTCP_ALPHA] + g * fraction + (1ULL << 23)) >> 24;
}

static inline void dctcp_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p,
					    __u32 s)
{
	weft_halve(&c->w[s]);
}

static inline void dctcp_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_collapse(&c->w[s]);
}

static inline void dctcp_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

#endif
