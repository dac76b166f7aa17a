/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/* Shares and windows of Warp, and which subflows work; warp.h describes terms and concurrency. */
#ifndef WEFT_WARP_WINDOWS_H
#define WEFT_WARP_WINDOWS_H

#include "dctcp.h"

/* Minimum window of the connection. */
#define WARP_MIN_CONNECTION_WINDOW (2 * WEFT_PACKET)
/* Minimum mean window of several sending subflows. */
#define WARP_MIN_MEAN_WINDOW (4 * WEFT_PACKET)
/* The threshold after slow start; every window is at least this large. */
#define WARP_SSTHRESH_AFTER_SLOW_START WEFT_PACKET

/* State: the share of the connection's window, in 2^-24 packets; 0 while inactive. */
#define WARP_SHARE 0
/* State: the estimated fraction of marked packets, in 2^-30. */
#define WARP_ALPHA 1
/* State: the fraction of marked packets in the last round, in 2^-30. */
#define WARP_MARKED 2
/* State: timeouts since the last end of a round of this subflow. */
#define WARP_TIMEOUTS 3

/*
 * A subflow grows on its own from the mark that ends its slow start until this many marks.
 * The first one is included; own_marks of the connection has WARP_OWN_MARKS_BITS per subflow for
 * the rest.
 */
#define WARP_OWN_MARKS 5
#define WARP_OWN_MARKS_BITS 8

/* A subflow with no acknowledgement for this many round-trip times does not work. */
#define WARP_MAX_SILENCE_RTTS 2
/* Rounds in a row with half of the packets marked which begin a trial. */
#define WARP_MARKED_ROUNDS 2
#define WARP_MARKED_ROUNDS_BITS 8

/* Scale of fractions: 2^-30. */
#define WARP_BITS DCTCP_ALPHA_BITS

/*
 * Number of slots that are processed if no later slot is taken. The lowest free slot is taken
 * first.
 */
#define WARP_FEW 4

/*
 * c->cut contains the time of the last cut in us, and in these bits the number of the subflow whose
 * mark caused it, so that no two cuts are equal.
 */
#define WARP_CUTTER_BITS 3

/* Returns `packets` times `part`, with `part` in 2^-30, rounded. */
static inline __u64 warp_times(__u64 packets, __u64 part)
{
	__u64 whole = (packets >> WEFT_PACKET_BITS) * part, fraction = (packets & (WEFT_PACKET - 1)) * part;
	__u32 shift = WARP_BITS - WEFT_PACKET_BITS;

	fraction += (whole & ((1U << shift) - 1)) << WEFT_PACKET_BITS;
	return (whole >> shift) + ((fraction + (1ULL << (WARP_BITS - 1))) >> WARP_BITS);
}

/* Returns a / b in 2^-30, rounded, for a <= b. */
static inline __u64 warp_ratio(__u64 a, __u64 b)
{
	/* Above 512 packets the lowest bits are negligible. */
	if (b >> 33) {
		a >>= 13;
		b >>= 13;
	}
	return b ? ((a << WARP_BITS) + b / 2) / b : 0;
}

/*
 * Hides a value from the compiler, which would turn the arithmetic into branches. The verifier
 * follows both sides of each branch, and eight subflows would have too many combinations.
 */
#define WARP_HIDE(x) asm volatile("" : "+r"(x))

/*
 * WARP_RARE keeps a loop that does not run for every acknowledgement from being unrolled, which
 * would exceed the stack of a BPF program. The body of such a loop must have no branches: with
 * branches, the compiler creates loops that Linux 6.1 rejects ("back-edge"). WARP_OFTEN unrolls a
 * loop.
 */
#ifdef __bpf__
#define WARP_RARE _Pragma("clang loop unroll(disable)")
#define WARP_OFTEN _Pragma("clang loop unroll(full)")
#else
#define WARP_RARE
#define WARP_OFTEN
#endif

/* Returns max(x, 0). */
static inline __u64 warp_positive(__s64 x)
{
	__u64 negative = x >> 63;

	WARP_HIDE(negative);
	return x & ~negative;
}

/* Returns 1 if the subflow may send, 0 otherwise. */
static inline __u64 warp_is_sending(const struct weft_window *r)
{
	return r->established & r->active;
}

/* Returns the number of timeouts since the last round, up to `most`. */
static inline __u64 warp_timeouts(const struct weft_window *r, __u64 most)
{
	return most - warp_positive(most - r->state[WARP_TIMEOUTS]);
}

/* Returns 1 if the subflow is established and has not timed out twice, 0 otherwise. */
static inline __u64 warp_is_alive(const struct weft_window *r)
{
	return r->established & (1 - warp_timeouts(r, 2) / 2);
}

/* Returns the minimum window: one packet after a timeout, else two. */
static inline __u64 warp_min_window(const struct weft_window *r)
{
	return (2 - warp_timeouts(r, 1)) << WEFT_PACKET_BITS;
}

/* Returns the share. It is negative for a moment if two CPUs reduce it at the same time. */
static inline __u64 warp_share(const struct weft_window *r)
{
	return warp_positive(r->state[WARP_SHARE]);
}

/* Changes the share from `was` to `share` by adding the difference, if the subflow sends. */
static inline void warp_move(struct weft_window *r, __u64 was, __u64 share)
{
	__sync_fetch_and_add(&r->state[WARP_SHARE], (share - was) * warp_is_sending(r));
}

/* Returns the number of sending subflows, and the sum of their shares in `total`. */
static inline __u64 warp_sending_total(const struct weft_connection *c, __u64 *total)
{
	__u64 m = 0;
	__u32 r;

	*total = 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		m += warp_is_sending(&c->w[r]);
		*total += warp_share(&c->w[r]) * warp_is_sending(&c->w[r]);
	}
	return m;
}

/* Returns the mask of the subflows that send. */
static inline __u64 warp_sending_subflows(const struct weft_connection *c)
{
	__u64 all = 0;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		all |= warp_is_sending(&c->w[r]) << r;
	return all;
}

/* Returns the mask of the subflows that are established and have not timed out twice. */
static inline __u64 warp_alive_subflows(const struct weft_connection *c)
{
	__u64 all = 0;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		all |= warp_is_alive(&c->w[r]) << r;
	return all;
}

/*
 * A BPF subprogram. It returns 0, because the verifier inspects the result register even if a
 * function returns nothing; `used` keeps the compiler from removing that assignment.
 */
#define WARP_FUNCTION static __attribute__((noinline, used)) int

/* Distributes floor(W) packets over the first n slots by the method of largest remainders. */
static inline __attribute__((always_inline)) int warp_give_out(struct weft_connection *c, __u32 n)
{
	/* Arrays of 32 bits, because the stack of a BPF program is small. */
	__u32 whole[WEFT_SUBFLOWS], key[WEFT_SUBFLOWS], r, q;
	__u64 total = 0, given = 0, share, packets, rank, more;

	WARP_OFTEN
	for (r = 0; r < n; r++) {
		share = warp_share(&c->w[r]) * warp_is_sending(&c->w[r]);
		packets = share & ~(WEFT_PACKET - 1);
		/* The maximum of both. */
		packets += warp_positive(warp_min_window(&c->w[r]) - packets);
		packets *= warp_is_sending(&c->w[r]);
		/* If remainders are equal, the later subflow precedes. */
		key[r] = warp_positive(share - packets) * WEFT_SUBFLOWS + r;
		whole[r] = packets >> WEFT_PACKET_BITS;
		total += share;
		given += whole[r];
	}
	total >>= WEFT_PACKET_BITS;
	WARP_OFTEN
	for (r = 0; r < n; r++) {
		rank = 0;
		WARP_OFTEN
		for (q = 0; q < n; q++) {
			more = (__u64)key[r] - key[q];
			WARP_HIDE(more);
			rank += more >> 63;
		}
		/*
		 * There are fewer packets left than remainders above 0, so no other subflow gets
		 * one.
		 */
		more = (rank + given - total) >> 63;
		WARP_HIDE(more);
		if (warp_is_sending(&c->w[r]))
			c->w[r].cwnd = (whole[r] + more) << WEFT_PACKET_BITS;
	}
	return 0;
}

WARP_FUNCTION warp_give_out_to_few(struct weft_connection *c)
{
	return warp_give_out(c, WARP_FEW);
}

WARP_FUNCTION warp_give_out_to_all(struct weft_connection *c)
{
	return warp_give_out(c, WEFT_SUBFLOWS);
}

/*
 * Distributes floor(W) packets. Each remainder is compared with each other one, so the version for
 * few slots takes a third of the time.
 */
static inline void warp_apportion(struct weft_connection *c)
{
	if (c->open >> WARP_FEW & ((1U << (WEFT_SUBFLOWS - WARP_FEW)) - 1))
		warp_give_out_to_all(c);
	else
		warp_give_out_to_few(c);
}

/* Distributes floor(W) packets without increasing the window of s. */
static inline void warp_apportion_without_raising(struct weft_connection *c, __u32 s)
{
	__u64 before = c->w[s].cwnd;

	warp_apportion(c);
	if (c->w[s].cwnd > before)
		c->w[s].cwnd = before;
}

/* Returns 1 if the subflow is in slow start, 0 otherwise. */
static inline __u64 warp_in_slow_start(const struct weft_window *r)
{
	__u64 starts = r->cwnd - r->ssthresh;

	WARP_HIDE(starts);
	return starts >> 63;
}

/* Returns the number of marks until subflow r no longer grows on its own. */
static inline __u64 warp_own_marks(const struct weft_connection *c, __u32 r)
{
	return c->own_marks >> (r * WARP_OWN_MARKS_BITS) & ((1U << WARP_OWN_MARKS_BITS) - 1);
}

/* Changes that number for s. Only events of s change it. */
static inline void warp_set_own_marks(struct weft_connection *c, __u32 s, __u64 marks)
{
	__sync_fetch_and_add(&c->own_marks, (marks - warp_own_marks(c, s)) << (s * WARP_OWN_MARKS_BITS));
}

/* Returns the number of rounds in a row in which half of the packets of r were marked. */
static inline __u64 warp_marked_rounds(const struct weft_connection *c, __u32 r)
{
	return c->marked_rounds >> (r * WARP_MARKED_ROUNDS_BITS) & ((1U << WARP_MARKED_ROUNDS_BITS) - 1);
}

/* Changes that number for s. Only events of s change it. */
static inline void warp_set_marked_rounds(struct weft_connection *c, __u32 s, __u64 rounds)
{
	__sync_fetch_and_add(&c->marked_rounds, (rounds - warp_marked_rounds(c, s)) << (s * WARP_MARKED_ROUNDS_BITS));
}

/*
 * Returns 1 if subflow r is in slow start or grows on its own, 0 otherwise. Marks of other subflows
 * do not cut it, and its own marks cut no other subflow.
 */
static inline __u64 warp_is_on_its_own(const struct weft_connection *c, __u32 r)
{
	/* At most 255, so the difference has no high bit only if the number is 0. */
	__u64 none = warp_own_marks(c, r) - 1;

	WARP_HIDE(none);
	return warp_in_slow_start(&c->w[r]) | (1 - (none >> 63));
}

/*
 * Ends slow start of s. Only a timeout restarts slow start; a smaller share after a shift does not.
 */
static inline void warp_leave_slow_start(struct weft_connection *c, __u32 s)
{
	c->left_slow_start = 1;
	c->w[s].ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
}

/* Returns 1 if subflow r works, at an event of subflow s, 0 otherwise. srtt is in 1/8 us. */
static inline __u64 warp_is_working(const struct weft_connection *c, __u32 r, __u32 s)
{
	__u64 rtt = c->w[s].srtt + warp_positive((__u64)c->w[r].srtt - c->w[s].srtt), late;

	late = rtt * WARP_MAX_SILENCE_RTTS - warp_positive(c->newest_ack - c->subflow[r].last_ack) * 8;
	WARP_HIDE(late);
	late >>= 63;
	return warp_is_sending(&c->w[r]) & (1 - warp_timeouts(&c->w[r], 1)) & ~c->w[r].in_recovery & (1 - late) & 1;
}

/* Returns the mask of the subflows that work, at an event of subflow s. */
static inline __u64 warp_working_subflows(const struct weft_connection *c, __u32 s)
{
	__u64 all = 0;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		all |= warp_is_working(c, r, s) << r;
	return all;
}

/* Returns the index of the lowest bit. */
static inline __u32 warp_lowest(__u64 bits)
{
	bits &= -bits;
	return (((bits & 0xaa) != 0) + 2 * ((bits & 0xcc) != 0) + 4 * ((bits & 0xf0) != 0)) % WEFT_SUBFLOWS;
}

/* Returns 1 if W has room for another subflow besides the m that send. */
static inline int warp_has_room(__u64 m, __u64 total)
{
	return total >= (m + 1) * 2 * WARP_MIN_MEAN_WINDOW;
}

/* Scales the shares up so that W is at least its minimum. */
static inline void warp_apply_min_window(struct weft_connection *c)
{
	__u64 total, share;
	__u32 r;

	warp_sending_total(c, &total);
	if (!total || total >= WARP_MIN_CONNECTION_WINDOW)
		return;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]);
		warp_move(&c->w[r], share, (share * WARP_MIN_CONNECTION_WINDOW + total / 2) / total);
	}
}

#endif
