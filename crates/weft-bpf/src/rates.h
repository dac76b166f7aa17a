/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * Rates of subflows, windows by round-trip times, for algorithms that compare them. A subflow
 * counts once it is established and has a round-trip time.
 */
#ifndef WEFT_RATES_H
#define WEFT_RATES_H

#include "weft.h"

/* A rate is in 2^-38 packets per 1/8 us. */
#define WEFT_RATE_BITS 14
/* Fractions of rates, in 2^-28. */
#define WEFT_PART_BITS 28
#define WEFT_PART (1ULL << WEFT_PART_BITS)

struct weft_rates {
	__u64 own;
	__u64 most;
	__u64 total;
};

static inline __u64 weft_rate(const struct weft_window *w)
{
	return w->established && w->srtt ? (w->cwnd << WEFT_RATE_BITS) / w->srtt : 0;
}

/*
 * Reads the rates of subflow s and of all, scaled so that they have at most 33 bits and that a
 * quotient keeps 24.
 */
static inline void weft_read_rates(const struct weft_connection *c, __u32 s, struct weft_rates *rates)
{
	__u32 r, shift;
	__u64 rate;

	rates->own = 0;
	rates->most = 0;
	rates->total = 0;
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		rate = weft_rate(&c->w[r]);
		rates->total += rate;
		if (rate > rates->most)
			rates->most = rate;
		if (r == s)
			rates->own = rate;
	}
	shift = (rates->total >> 33 ? 8 : 0) + (rates->total >> 41 ? 8 : 0) + (rates->total >> 49 ? 8 : 0) +
		(rates->total >> 57 ? 8 : 0);
	rates->own >>= shift;
	rates->most >>= shift;
	rates->total >>= shift;
}

/*
 * Adds @part, in 2^-28, of what Reno adds for @left (RFC 5681, equation (3)). One packet is added
 * for each packet at most.
 */
static inline void weft_grow_by(struct weft_window *w, __u64 left, __u64 part)
{
	__u64 most = w->cwnd << (WEFT_PART_BITS - WEFT_PACKET_BITS);

	if (part > most)
		part = most;
	left = ((left << WEFT_PACKET_BITS) + w->cwnd / 2) / w->cwnd;
	w->cwnd += (left * part + WEFT_PART / 2) >> WEFT_PART_BITS;
}

#endif
