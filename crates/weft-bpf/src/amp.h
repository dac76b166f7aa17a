/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * AMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (text of
 * October 2020), section 4.2, Algorithm 1. Comments below cite its line numbers. The behaviour is
 * that of amp.rs of weft-cc, event by event; amp.rs documents the choices where the paper is
 * silent.
 *
 * Deviations: w_total is computed at each acknowledgement instead of updated, because subflows run
 * on several CPUs and none may write a sum that another one updates. A subflow that is joining does
 * not block suppression, because the kernel reports subflows only once they are established. A
 * subflow without a recent acknowledgement (c->idle) neither counts towards suppression nor blocks
 * it, and is not part of w_total: the path manager may release it later than requested. The
 * transport of the packet level never sets c->idle.
 *
 * Concurrency: a subflow writes its own window. The initial subflow, in its own events, also writes
 * `suppressed`, `n_round` and the `active` of all subflows. A subflow that joins at the same time
 * may read the old `suppressed`, so each acknowledgement derives `active` from it again.
 */
#ifndef WEFT_AMP_H
#define WEFT_AMP_H

#include "dctcp.h"

/* State: 1 once the subflow has closed. */
#define AMP_CLOSED 0
/* State: timeouts since the last end of a round of this subflow. */
#define AMP_TIMEOUTS 1
/* State, with dctcp_cut: the estimated fraction of marked packets, in 2^-30. */
#define AMP_ALPHA 2
/* Weight of the newest round in AMP_ALPHA: 1 / 16, DCTCP's default, in 2^-24. */
#define AMP_G (1U << (DCTCP_G_BITS - 4))

/* Returns true if the slot is taken and the subflow has neither closed nor timed out twice. */
static inline int amp_is_alive(const struct weft_connection *c, __u32 s)
{
	return c->open >> s & 1 && !c->w[s].state[AMP_CLOSED] && c->w[s].state[AMP_TIMEOUTS] < 2;
}

/* Returns true if the subflow may send new data and had a recent acknowledgement. */
static inline int amp_is_sending(const struct weft_connection *c, __u32 r)
{
	return c->w[r].established && c->w[r].active && !(c->idle >> r & 1);
}

/* Returns true if `s` is the only subflow that sends new data. */
static inline int amp_is_only_alive(const struct weft_connection *c, __u32 s)
{
	__u32 r;

	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		if (r != s && amp_is_sending(c, r))
			return 0;
	}
	return c->w[s].active;
}

/* Sets `active` of all subflows; the initial one is always active. */
static inline void amp_set_active(struct weft_connection *c, __u8 active)
{
	__u32 s;

	for (s = 0; s < WEFT_SUBFLOWS; s++)
		c->w[s].active = active || s == c->initial;
	c->suppressed = !active;
	c->n_round = 0;
}

/* Algorithm 1, lines 2 to 13. */
static inline void amp_suppress_subflows(struct weft_connection *c, const volatile struct weft_parameters *p)
{
	__u32 s, n = 0, n_sf = 0;

	for (s = 0; s < WEFT_SUBFLOWS; s++) {
		struct weft_window *r = &c->w[s];

		if (!amp_is_alive(c, s) || c->idle >> s & 1)
			continue;
		n++;
		n_sf += r->cwnd >> WEFT_PACKET_BITS == p->cwnd_min >> WEFT_PACKET_BITS && r->established &&
			!r->in_recovery;
	}
	c->n_round = n_sf == n && n > 1 ? c->n_round + 1 : 0;
	if (c->n_round >= p->gamma)
		amp_set_active(c, 0);
}

/* Algorithm 1, lines 14 to 21. */
static inline void amp_release_subflows(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
					__u32 marked)
{
	struct weft_window *r = &c->w[s];

	if (!marked && r->cwnd >> WEFT_PACKET_BITS > p->cwnd_min >> WEFT_PACKET_BITS && !r->in_recovery)
		c->n_round++;
	else
		c->n_round = 0;
	if (c->n_round >= p->tau)
		amp_set_active(c, 1);
}

static inline void amp_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].state[AMP_CLOSED] = 0;
	c->w[s].state[AMP_TIMEOUTS] = 0;
	c->w[s].state[AMP_ALPHA] = 1ULL << DCTCP_ALPHA_BITS;
	if (!c->w[c->initial % WEFT_SUBFLOWS].established)
		c->initial = s;
	c->w[s].active = !c->suppressed || s == c->initial;
}

/* Algorithm 1, lines 23 to 25. */
static inline void amp_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
			      __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 left, w_total = 0;
	__u32 r;

	w->active = !c->suppressed || s == c->initial;
	if (!w->active)
		return;
	left = weft_avoidance(w, acked);
	if (!left)
		return;
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		if (r == s || amp_is_sending(c, r))
			w_total += c->w[r].cwnd;
	}
	w->cwnd += ((left << WEFT_PACKET_BITS) + w_total / 2) / w_total;
}

/* Algorithm 1, lines 27 to 29. With dctcp_cut and one active subflow: equation (2) of DCTCP. */
static inline void amp_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	if (p->dctcp_cut && amp_is_only_alive(c, s))
		dctcp_cut(&c->w[s], c->w[s].state[AMP_ALPHA], p);
	else
		weft_cut(&c->w[s], p);
}

static inline void amp_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 acked, __u32 marked)
{
	c->w[s].state[AMP_TIMEOUTS] = 0;
	if (p->dctcp_cut)
		c->w[s].state[AMP_ALPHA] = dctcp_estimate(c->w[s].state[AMP_ALPHA], AMP_G, acked, marked);
	if (!c->w[c->initial % WEFT_SUBFLOWS].established) {
		/*
		 * If two subflows close at the same time, each may have chosen the other one as
		 * initial.
		 */
		c->initial = s;
		amp_set_active(c, 1);
	}
	if (s != c->initial || !p->ssr)
		return;
	if (c->suppressed)
		amp_release_subflows(c, p, s, marked);
	else
		amp_suppress_subflows(c, p);
}

/* Algorithm 1, lines 31 and 32. */
static inline void amp_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];

	w->cwnd /= 2;
	if (w->cwnd < p->cwnd_min)
		w->cwnd = p->cwnd_min;
	w->ssthresh = w->cwnd;
}

static inline void amp_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	weft_collapse(&c->w[s], first);
	c->w[s].state[AMP_TIMEOUTS]++;
	if (s == c->initial && !amp_is_alive(c, s))
		amp_set_active(c, 1);
}

/* Suppression and release are not undone: other subflows have acted on them in the meantime. */
static inline void amp_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_undo(c, s);
	c->w[s].state[AMP_TIMEOUTS] = 0;
}

static inline void amp_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	__u32 r;

	c->w[s].state[AMP_CLOSED] = 1;
	if (s != c->initial)
		return;
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		if (c->w[r].established)
			break;
	}
	if (r < WEFT_SUBFLOWS)
		c->initial = r;
	amp_set_active(c, 1);
}

#endif
