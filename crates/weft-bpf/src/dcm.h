/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * DCM: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (text of
 * October 2020), section 2.1, equations (1) and (2). It has the increase of LIA (lia.h) and the
 * reduction by marks of DCTCP (dctcp.h), with the deviations of these. The behaviour is that of
 * dcm.rs of weft-cc, event by event.
 */
#ifndef WEFT_DCM_H
#define WEFT_DCM_H

#include "dctcp.h"
#include "lia.h"

static inline void dcm_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	dctcp_on_open(c, p, s);
	lia_on_open(c, p, s);
}

/* For each ACK on subflow s: w_s <- w_s + min(a / w_total, 1 / w_s). */
static inline void dcm_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
			      __u32 acked, __u32 marked)
{
	lia_on_ack(c, p, s, acked, marked);
}

/* For first marked ACK in a window: w_s <- w_s (1 - alpha_s / 2). */
static inline void dcm_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	dctcp_on_mark(c, p, s);
	lia_update_increase(c);
}

/* Equation (2), and equation (1) if it is not computed at every acknowledgement. */
static inline void dcm_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 acked, __u32 marked)
{
	dctcp_on_round(c, p, s, acked, marked);
	lia_on_round(c, p, s, acked, marked);
}

/* For each loss: w_s <- w_s / 2. */
static inline void dcm_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_halve(&c->w[s]);
	lia_update_increase(c);
}

static inline void dcm_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	weft_collapse(&c->w[s], first);
	lia_update_increase(c);
}

static inline void dcm_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	lia_on_undo(c, p, s);
}

static inline void dcm_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	lia_on_close(c, p, s);
}

#endif
