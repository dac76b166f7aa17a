/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * OLIA: Khalili, Gast, Popovic, Upadhyay and Le Boudec, "MPTCP is not Pareto-optimal: performance
 * issues and a possible solution", CoNEXT 2012, section 4;
 * draft-khalili-mptcp-congestion-control-05. The behaviour is that of olia.rs of weft-cc, event by
 * event; olia.rs documents the choices that both leave open.
 *
 * Deviations: the increase is written with the rates x_s of the subflow and X the sum,
 *
 *   (w_s / rtt_s^2) / X^2 + alpha_s / w_s = ((x_s / X)^2 + alpha_s) / w_s
 *
 * The packets since the last loss are the difference of two counts of delivered packets. A quality
 * l / rtt^2 is a number with 32 bits and an exponent. Windows are below 2^19 packets, and
 * round-trip times above 1 us.
 */
#ifndef WEFT_OLIA_H
#define WEFT_OLIA_H

#include <stdbool.h>

#include "rates.h"

/* State: packets delivered between the last two losses. */
#define OLIA_LOSS_INTERVAL 0
/* State: packets delivered (weft_subflow.acked) when the last loss was seen. */
#define OLIA_LOST_AT 1
/* State: packets delivered between the last two losses, of the last loss that may be undone. */
#define OLIA_PRIOR_SINCE 2

/* Bits of the number in a quality; the exponent is above them. */
#define OLIA_QUALITY_BITS 33
/* Keeps exponents positive: round-trip times have up to 32 bits, squared. */
#define OLIA_BIAS 80

static inline __u64 olia_since_loss(const struct weft_connection *c, __u32 s)
{
	return c->subflow[s].acked - c->w[s].state[OLIA_LOST_AT];
}

/*
 * Returns 1 if @x is not 0. Without a branch: the verifier follows both sides of each, and all of
 * their combinations.
 */
static inline __u64 olia_is_set(__u64 x)
{
	__u64 minus = -x;

	/* Hides from the compiler that this is a comparison. */
	asm volatile("" : "+r"(minus));
	return (x | minus) >> 63;
}

/* Shifts *number, which is not 0, to 32 bits, the highest of which is set. Returns the exponent. */
static inline __s64 olia_normalize(__u64 *number)
{
	__s64 exponent = 0;
	__u64 step, x = *number;
	__s32 bit;

	for (bit = 5; bit >= 0; bit--) {
		step = olia_is_set(x >> (31 + (1 << bit))) << bit;
		x >>= step;
		exponent += step;
	}
	for (bit = 4; bit >= 0; bit--) {
		step = (1 - olia_is_set(x >> (32 - (1 << bit)))) << bit;
		x <<= step;
		exponent -= step;
	}
	*number = x;
	return exponent;
}

/*
 * Returns l / rtt^2 for l packets, in a form in which larger qualities are larger numbers. 0: no
 * packet.
 */
static inline __u64 olia_quality(__u64 packets, __u64 rtt)
{
	__s64 exponent, squared;

	if (!packets)
		return 0;
	squared = 2 * olia_normalize(&rtt);
	exponent = olia_normalize(&packets);
	packets = (packets << 32) / rtt;
	exponent += olia_normalize(&packets);
	packets = (packets << 32) / rtt;
	exponent += olia_normalize(&packets) - squared + OLIA_BIAS;
	return (__u64)exponent << OLIA_QUALITY_BITS | packets;
}

/* Returns true if a quality is the largest within a millionth. */
static inline bool olia_is_best(__u64 quality, __u64 best)
{
	__u64 below = (best >> OLIA_QUALITY_BITS) - (quality >> OLIA_QUALITY_BITS), mask = (1ULL << OLIA_QUALITY_BITS) - 1;

	quality &= mask;
	best &= mask;
	if (below > 1)
		return false;
	return quality << 1 >= (best - best / 1000000) << 1 << below;
}

static inline bool olia_is_largest(__u64 cwnd, __u64 largest)
{
	return cwnd >= largest - largest / 1000000;
}

/*
 * Returns alpha_s, in 2^-28. The function is global, so that the verifier follows it once and not
 * for each path that leads here.
 */
__attribute__((noinline)) __s64 weft_olia_alpha(struct weft_connection *c, __u32 s)
{
	__u64 quality[WEFT_SUBFLOWS] = {}, best = 0, largest = 0, packets, since;
	__u32 r, all = 0, windows = 0, collected = 0;
	const struct weft_window *w;

	if (!c || s >= WEFT_SUBFLOWS)
		return 0;
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		w = &c->w[r];
		if (!w->established || !w->srtt)
			continue;
		packets = w->state[OLIA_LOSS_INTERVAL];
		since = olia_since_loss(c, r);
		quality[r] = olia_quality(since > packets ? since : packets, w->srtt);
		if (quality[r] > best)
			best = quality[r];
		if (w->cwnd > largest)
			largest = w->cwnd;
	}
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		w = &c->w[r];
		if (!w->established || !w->srtt)
			continue;
		all++;
		if (olia_is_largest(w->cwnd, largest))
			windows++;
		else if (olia_is_best(quality[r], best))
			collected++;
	}
	if (!collected)
		return 0;
	if (olia_is_largest(c->w[s].cwnd, largest))
		return -(__s64)(WEFT_PART / (all * windows));
	return olia_is_best(quality[s], best) ? WEFT_PART / (all * collected) : 0;
}

static inline void olia_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].state[OLIA_LOSS_INTERVAL] = 0;
	c->w[s].state[OLIA_LOST_AT] = c->subflow[s].acked;
	c->w[s].state[OLIA_PRIOR_SINCE] = 0;
}

static inline void olia_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
			       __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 left = weft_avoidance(w, acked), part;
	struct weft_rates rates;
	__s64 sum;

	if (!left)
		return;
	if (!w->srtt) {
		weft_grow_by(w, left, WEFT_PART);
		return;
	}
	weft_read_rates(c, s, &rates);
	part = (rates.own << WEFT_PART_BITS) / rates.total;
	sum = (part * part >> WEFT_PART_BITS) + weft_olia_alpha(c, s);
	if (sum >= 0) {
		weft_grow_by(w, left, sum);
		return;
	}
	part = -sum;
	left = ((left << WEFT_PACKET_BITS) + w->cwnd / 2) / w->cwnd;
	w->cwnd -= (left * part + WEFT_PART / 2) >> WEFT_PART_BITS;
	if (w->cwnd < WEFT_PACKET)
		w->cwnd = WEFT_PACKET;
}

static inline void olia_lose(struct weft_connection *c, __u32 s)
{
	__u64 *state = c->w[s].state;

	state[OLIA_LOSS_INTERVAL] = olia_since_loss(c, s);
	state[OLIA_LOST_AT] = c->subflow[s].acked;
}

static inline void olia_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_halve_to(&c->w[s], p->cwnd_min);
	olia_lose(c, s);
}

static inline void olia_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				 __u32 acked, __u32 marked)
{
}

static inline void olia_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].state[OLIA_PRIOR_SINCE] = olia_since_loss(c, s);
	weft_halve_to(&c->w[s], p->cwnd_min);
	olia_lose(c, s);
}

static inline void olia_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				   __u32 first)
{
	if (first)
		c->w[s].state[OLIA_PRIOR_SINCE] = olia_since_loss(c, s);
	weft_collapse_to(&c->w[s], first, p->cwnd_min);
	olia_lose(c, s);
}

/* As if the loss had not happened. */
static inline void olia_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	weft_undo(c, s);
	c->w[s].state[OLIA_LOSS_INTERVAL] = c->subflow[s].prior_state[OLIA_LOSS_INTERVAL];
	c->w[s].state[OLIA_LOST_AT] -= c->w[s].state[OLIA_PRIOR_SINCE];
}

static inline void olia_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

#endif
