/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * wVegas: Cao, Xu and Fu, "Delay-based congestion control for multipath TCP", IEEE ICNP 2012; Xu,
 * Cao and Dong, draft-xu-mptcp-congestion-control-05. The behaviour is that of wvegas.rs of weft-cc,
 * event by event; wvegas.rs documents the details that both take from the authors' module.
 *
 * Round-trip times are samples of the kernel in whole microseconds. Windows are below 2^19 packets.
 */
#ifndef WEFT_WVEGAS_H
#define WEFT_WVEGAS_H

#include "weft.h"

/* State: the smallest sample; from bit 32, the smallest mean delay in queues. 0: none. */
#define WVEGAS_BASE 0
/* State: sum of the samples of this round. */
#define WVEGAS_SUM 1
/* State: number of samples of this round; WVEGAS_ROUND_ENDED; from bit 32, alpha in packets. */
#define WVEGAS_COUNT 2
/* State: rate in 2^-32 packets per us; 0: not known. */
#define WVEGAS_RATE 3

#define WVEGAS_ROUND_ENDED (1ULL << 31)
#define WVEGAS_MIN_ALPHA 2ULL
/* Samples of a round with which the delay is not known well enough. */
#define WVEGAS_FEW_SAMPLES 2
#define WVEGAS_LOW 0xffffffffULL

/* Forgets all but the smallest sample. */
static inline void wvegas_restart(struct weft_window *w)
{
	w->state[WVEGAS_BASE] &= WVEGAS_LOW;
	w->state[WVEGAS_SUM] = 0;
	w->state[WVEGAS_COUNT] = WVEGAS_MIN_ALPHA << 32;
	w->state[WVEGAS_RATE] = 0;
}

static inline void wvegas_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].state[WVEGAS_BASE] = 0;
	wvegas_restart(&c->w[s]);
}

/* Records a sample of the round-trip time, in us. */
static inline void wvegas_on_sample(struct weft_connection *c, __u32 s, __u32 rtt)
{
	__u64 *state = c->w[s].state, base = state[WVEGAS_BASE] & WVEGAS_LOW;

	if (!rtt)
		rtt = 1;
	if (!base || rtt < base)
		state[WVEGAS_BASE] += rtt - base;
	state[WVEGAS_SUM] += rtt;
	state[WVEGAS_COUNT]++;
}

/* Returns alpha of subflow s. */
static inline __u64 wvegas_weigh(const struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	__u64 total = 0, alpha;
	__u32 r;

	for (r = 0; r < WEFT_SUBFLOWS; r++)
		if (c->w[r].established)
			total += c->w[r].state[WVEGAS_RATE];
	alpha = p->total_alpha * c->w[s].state[WVEGAS_RATE] / (total ? total : 1);
	return alpha > WVEGAS_MIN_ALPHA ? alpha : WVEGAS_MIN_ALPHA;
}

/* Reduces the window if the delay in queues has doubled. */
static inline void wvegas_drain(struct weft_window *w, __u64 base, __u64 mean)
{
	__u64 delay = mean - base, least = w->state[WVEGAS_BASE] >> 32;

	if (!least || delay < least)
		least = delay;
	if (least && delay >= 2 * least) {
		w->cwnd = (w->cwnd >> WEFT_PACKET_BITS) * base / (2 * mean) << WEFT_PACKET_BITS;
		least = 0;
	}
	w->state[WVEGAS_BASE] = base | least << 32;
}

/* Lowers the threshold to one packet below the window. */
static inline void wvegas_lower_ssthresh(struct weft_window *w)
{
	if (w->ssthresh > w->cwnd - WEFT_PACKET)
		w->ssthresh = w->cwnd - WEFT_PACKET;
}

/* Changes the window at the end of a round, which has @samples samples. */
static inline void wvegas_end_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				    __u32 acked, __u32 samples)
{
	struct weft_window *w = &c->w[s];
	__u64 base = w->state[WVEGAS_BASE] & WVEGAS_LOW, mean = w->state[WVEGAS_SUM] / samples;
	__u64 before = w->cwnd, cwnd = before >> WEFT_PACKET_BITS, waiting, alpha, target;

	waiting = cwnd * (mean - base) / mean;
	if (w->cwnd < w->ssthresh) {
		if (waiting > p->gamma) {
			target = (cwnd * base / mean + 1) << WEFT_PACKET_BITS;
			if (w->cwnd > target)
				w->cwnd = target;
			wvegas_lower_ssthresh(w);
		} else {
			weft_avoidance(w, acked);
		}
	} else {
		alpha = w->state[WVEGAS_COUNT] >> 32;
		if (waiting >= alpha) {
			w->state[WVEGAS_RATE] = (cwnd << 32) / mean;
			alpha = wvegas_weigh(c, p, s);
			w->state[WVEGAS_COUNT] = alpha << 32;
		}
		if (waiting > alpha) {
			w->cwnd -= WEFT_PACKET;
			wvegas_lower_ssthresh(w);
		} else if (waiting < alpha) {
			w->cwnd += WEFT_PACKET;
		}
		if (p->drain)
			wvegas_drain(w, base, mean);
	}
	if (before > p->cwnd_min)
		before = p->cwnd_min;
	if (w->cwnd < before)
		w->cwnd = before;
	/* tcp_current_ssthresh(); a window has at least one packet. */
	target = (w->cwnd >> 2) * 3;
	if (target < WEFT_PACKET)
		target = WEFT_PACKET;
	if (w->ssthresh < target)
		w->ssthresh = target;
}

static inline void wvegas_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				 __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 count = w->state[WVEGAS_COUNT];
	__u32 samples = count & (WVEGAS_ROUND_ENDED - 1);

	if (w->in_recovery) {
		weft_grow(w, acked);
		return;
	}
	if (!(count & WVEGAS_ROUND_ENDED)) {
		weft_avoidance(w, acked);
		return;
	}
	if (samples > WVEGAS_FEW_SAMPLES)
		wvegas_end_round(c, p, s, acked, samples);
	else
		weft_grow(w, acked);
	w->state[WVEGAS_SUM] = 0;
	w->state[WVEGAS_COUNT] &= ~WVEGAS_LOW;
}

static inline void wvegas_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				   __u32 acked, __u32 marked)
{
	c->w[s].state[WVEGAS_COUNT] |= WVEGAS_ROUND_ENDED;
}

static inline void wvegas_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p,
					     __u32 s)
{
	weft_halve_to(&c->w[s], p->cwnd_min);
	wvegas_restart(&c->w[s]);
}

static inline void wvegas_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	wvegas_on_fast_retransmit(c, p, s);
}

static inline void wvegas_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				     __u32 first)
{
	weft_collapse_to(&c->w[s], first, p->cwnd_min);
	wvegas_restart(&c->w[s]);
}

static inline void wvegas_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_undo(c, s);
	wvegas_restart(&c->w[s]);
}

static inline void wvegas_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

#endif
