/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * Warp: docs/warp/law.md describes the law. The behaviour is that of warp.rs of weft-cc, event by
 * event.
 *
 * Terms: W is the sum of the shares of all sending subflows, m their number. A subflow sends if it
 * is established and active. It works if it sends, is not in recovery, has not timed out since its
 * last round, and had an acknowledgement within WARP_MAX_SILENCE_RTTS round-trip times.
 *
 * Deviations: shares are in units of 2^-24 packets; alpha, marks and kappa are in 2^-30; products
 * and quotients are rounded to the nearest unit. Time is the kernel's TCP clock, in microseconds.
 * Once slow start has ended, a round activates no subflow and starts no trial until
 * parameters.min_inactive has passed since the last deactivation. Until then, the data that was
 * already assigned to the inactive subflow leaves, two packets at a time. In the native build
 * min_inactive is 0.
 *
 * Concurrency: subflows run on several CPUs at the same time, and each may write the shares and
 * windows of all subflows. A share that several subflows may change at once is changed by atomic
 * addition. It is assigned only when its subflow is opened, activated, deactivated, timed out or
 * restored. Growth at an acknowledgement is lost if another subflow has changed the share in the
 * meantime. Of two subflows that cut at the same time, only one succeeds. Of several rounds that
 * end at the same time, only one moves shares; the others skip that step without waiting. Only a
 * subflow's own event sets the window in the kernel, so the other subflows apply a cut at their
 * next acknowledgement, before they can send again.
 */
#ifndef WEFT_WARP_H
#define WEFT_WARP_H

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
/* A trial begins after at least this many times tau rounds since the last one, and lasts at most as long. */
#define WARP_TRIAL_INTERVAL_TAUS 8
/*
 * A trial begins after at least this many packets since the last one: bursts of the scheduler leave
 * inactive subflows in addition to W (TRIAL_INTERVAL_PACKETS of warp.rs).
 */
#define WARP_TRIAL_INTERVAL_PACKETS 2000
/* The same where there is room, for subflows on crowded paths. */
#define WARP_TRIAL_INTERVAL_PACKETS_WITH_ROOM 16000
/* A path is crowded if its alpha is above this many times that of every other working subflow. */
#define WARP_CROWDED_RATIO 2
/* A path is crowded only if the other sending subflows have this window on average. */
#define WARP_MIN_OTHERS_WINDOW (16 * WEFT_PACKET)
/* Minimum alpha for such comparisons. */
#define WARP_MIN_CROWDED_ALPHA (1ULL << (WARP_BITS - 4))
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

/* Activates s, with the (m + 1)-th part of W, which the sending subflows give up. */
WARP_FUNCTION warp_activate(struct weft_connection *c, __u32 s)
{
	struct weft_window *w = &c->w[s % WEFT_SUBFLOWS];
	__u64 total, share, part, left, m = warp_sending_total(c, &total);
	__u32 r;

	left = total;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]);
		part = (share * m + (m + 1) / 2) / (m + 1);
		warp_move(&c->w[r], share, part);
		left -= part * warp_is_sending(&c->w[r]);
	}
	/* The remainder, so that W does not change through rounding. */
	w->state[WARP_SHARE] = left;
	w->active = 1;
	c->subflow[s % WEFT_SUBFLOWS].last_ack = c->newest_ack;
	if (c->left_slow_start)
		w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	return 0;
}

/*
 * Tries to get the right to move shares between subflows. Returns 1 if successful; warp_end() must
 * follow.
 */
static inline int warp_begin(struct weft_connection *c)
{
	return __sync_val_compare_and_swap(&c->moving, 0, 1) == 0;
}

static inline void warp_end(struct weft_connection *c)
{
	__sync_val_compare_and_swap(&c->moving, 1, 0);
}

/**
 * warp_worst() - Chooses a sending subflow to deactivate
 * @s: the subflow whose event this is
 * @not: a subflow that is not chosen, or WEFT_SUBFLOWS
 *
 * Return: a subflow that does not work, if there is one; otherwise the one with the largest alpha.
 * The last one of equals. WEFT_SUBFLOWS if no other subflow sends.
 */
WARP_FUNCTION warp_worst(struct weft_connection *c, __u32 s, __u32 not)
{
	__u64 key, worst = 0;
	__u32 r;

	s %= WEFT_SUBFLOWS;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		key = c->w[r].state[WARP_ALPHA] * 2 * WEFT_SUBFLOWS + 2 * r + 1;
		key += (1 - warp_is_working(c, r, s)) << 40;
		key *= warp_is_sending(&c->w[r]) & (r != not);
		worst += warp_positive(key - worst);
	}
	return worst ? (worst >> 1) % WEFT_SUBFLOWS : WEFT_SUBFLOWS;
}

/*
 * Deactivates `victim` at an event of subflow s. Its share goes to the other working subflows, or
 * to all sending subflows if none works.
 */
WARP_FUNCTION warp_deactivate(struct weft_connection *c, __u32 victim, __u32 s)
{
	struct weft_window *w = &c->w[victim % WEFT_SUBFLOWS];
	__u64 moved = warp_share(w), left = 0, share, gets, part;
	__u32 r, shift;

	w->active = 0;
	w->state[WARP_SHARE] = 0;
	gets = warp_working_subflows(c, s % WEFT_SUBFLOWS);
	if (!gets)
		gets = warp_sending_subflows(c);
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		left += warp_share(&c->w[r]) * (gets >> r & 1);
	if (!left)
		return 0;
	/* Above 512 packets the lowest bits are negligible. */
	shift = left >> 33 ? 13 : 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]) * (gets >> r & 1);
		part = ((share >> shift << WARP_BITS) + (left >> shift) / 2) / (left >> shift);
		warp_move(&c->w[r], 0, warp_times(moved, part));
	}
	return 0;
}

/*
 * Returns alpha * WEFT_SUBFLOWS + number of the inactive subflow with the smallest alpha, the first
 * one of equals; WARP_NONE if there is none. Subflows that have timed out twice or are on crowded
 * paths do not count.
 */
#define WARP_NONE (1ULL << 62)

static inline __u64 warp_least_marked(const struct weft_connection *c)
{
	__u64 key, best = WARP_NONE;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		key = c->w[r].state[WARP_ALPHA] * WEFT_SUBFLOWS + r;
		/* At least 2^62 for the other subflows. */
		key += (1 - (warp_is_alive(&c->w[r]) & ~c->w[r].active & ~(c->crowded >> r))) << 62;
		best -= warp_positive(best - key);
	}
	return best;
}

/* Returns the mask of the inactive subflows on crowded paths that have not timed out twice. */
static inline __u64 warp_crowded_subflows(const struct weft_connection *c)
{
	__u64 all = 0;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		all |= (warp_is_alive(&c->w[r]) & ~c->w[r].active & 1) << r;
	return all & c->crowded;
}

/* Returns the mask of the subflows that may be tried. */
static inline __u64 warp_may_try(const struct weft_connection *c)
{
	__u64 all = 0;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		all |= (__u64)(c->w[r].established & ~c->w[r].active & (1 - warp_timeouts(&c->w[r], 1)) & 1) << r;
	return all;
}

/* Returns 1 if the path of s is crowded, and another subflow works, 0 otherwise. */
WARP_FUNCTION warp_is_crowding(struct weft_connection *c, __u32 s)
{
	struct weft_window *w = &c->w[s % WEFT_SUBFLOWS];
	__u64 alpha = w->state[WARP_ALPHA], others, above = 0, is_above, share = warp_share(w), total, m;
	__u32 r;

	s %= WEFT_SUBFLOWS;
	if (!warp_is_sending(w) || share >= WARP_MIN_MEAN_WINDOW || alpha < WARP_MIN_CROWDED_ALPHA ||
	    warp_is_on_its_own(c, s))
		return 0;
	m = warp_sending_total(c, &total);
	if (total < share + (m - 1) * WARP_MIN_OTHERS_WINDOW)
		return 0;
	others = warp_working_subflows(c, s) & ~(1ULL << s);
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		is_above = c->w[r].state[WARP_ALPHA] * WARP_CROWDED_RATIO - alpha;
		WARP_HIDE(is_above);
		above |= (is_above >> 63) << r;
	}
	return others && !(others & ~above);
}

/*
 * Returns the first inactive subflow with less than half the alpha of every sending subflow;
 * WEFT_SUBFLOWS if there is none.
 */
WARP_FUNCTION warp_clear_path(struct weft_connection *c)
{
	__u64 least = WARP_NONE, key, below = 0, is_below;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		key = c->w[r].state[WARP_ALPHA] + ((1 - warp_is_sending(&c->w[r])) << 62);
		least -= warp_positive(least - key);
	}
	if (least < WARP_MIN_CROWDED_ALPHA)
		return WEFT_SUBFLOWS;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		is_below = c->w[r].state[WARP_ALPHA] * WARP_CROWDED_RATIO - least;
		WARP_HIDE(is_below);
		below |= (is_below >> 63) << r;
	}
	below &= warp_may_try(c);
	return below ? warp_lowest(below) : WEFT_SUBFLOWS;
}

/* Returns 1 if marks have just risen on all sending subflows, at the end of a round of s, else 0. */
static inline int warp_marks_rise(const struct weft_connection *c, __u32 s)
{
	__u64 few = 0, is_few;
	__u32 r;

	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		is_few = warp_marked_rounds(c, r) - WARP_MARKED_ROUNDS;
		WARP_HIDE(is_few);
		few |= (is_few >> 63) & warp_is_sending(&c->w[r]);
	}
	return !few && warp_marked_rounds(c, s) == WARP_MARKED_ROUNDS;
}

/*
 * Starts a trial of subflow `next`; if that is WEFT_SUBFLOWS, of the next inactive subflow without
 * a timeout, in circular order.
 */
WARP_FUNCTION warp_start_trial(struct weft_connection *c, __u32 s, __u32 next)
{
	__u64 may_try = warp_may_try(c), later, total, tried, share, part, left, kept;
	__u32 r, rival = warp_worst(c, s, WEFT_SUBFLOWS);
	struct weft_window *w;

	warp_sending_total(c, &total);
	if (!may_try || rival >= WEFT_SUBFLOWS || !total)
		return 0;
	later = may_try & -(2ULL << (c->last_tried % WEFT_SUBFLOWS));
	if (next >= WEFT_SUBFLOWS)
		next = warp_lowest(later ? later : may_try);
	w = &c->w[next];
	c->rounds_since_trial = 0;
	c->packets_since_trial = 0;
	c->last_tried = next;
	tried = total / 2 < WARP_MIN_CONNECTION_WINDOW ? total / 2 : WARP_MIN_CONNECTION_WINDOW;
	kept = warp_ratio(total - tried, total);
	left = total;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]);
		part = warp_times(share, kept);
		warp_move(&c->w[r], share, part);
		left -= part * warp_is_sending(&c->w[r]);
	}
	w->state[WARP_SHARE] = left;
	w->active = 1;
	w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	w->state[WARP_ALPHA] = c->w[rival].state[WARP_ALPHA];
	c->subflow[next].last_ack = c->newest_ack;
	c->tried = next + 1;
	c->rival = rival;
	c->trial_rounds = 0;
	c->trial_rounds_of_first = 0;
	c->trial_acked = 0;
	c->trial_marked = 0;
	return 0;
}

/*
 * Counts a round of s. Ends the trial after tau rounds of the tried subflow, or after
 * WARP_TRIAL_INTERVAL_TAUS * tau rounds of the first sending subflow if it has fewer.
 */
static inline void warp_continue_trial(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s, int is_first,
				       __u32 acked, __u32 marked)
{
	__u32 tried = (c->tried - 1) % WEFT_SUBFLOWS, rival = c->rival % WEFT_SUBFLOWS;
	struct weft_window *w = &c->w[tried], *other = &c->w[rival];
	__u64 fraction, total, m;
	int better, stays_crowded;

	if (s == tried) {
		c->trial_rounds++;
		c->trial_acked += acked;
		c->trial_marked += marked;
	}
	c->trial_rounds_of_first += is_first;
	if (warp_is_sending(w) && c->trial_rounds < p->tau &&
	    c->trial_rounds_of_first < WARP_TRIAL_INTERVAL_TAUS * p->tau)
		return;
	c->tried = 0;
	if (!warp_is_sending(w))
		return;
	fraction = warp_ratio(c->trial_marked < c->trial_acked ? c->trial_marked : c->trial_acked, c->trial_acked);
	better = c->trial_acked && fraction < other->state[WARP_ALPHA];
	if (better)
		w->state[WARP_ALPHA] = fraction;
	stays_crowded = !better && c->crowded >> tried & 1;
	if (better)
		__sync_fetch_and_and(&c->crowded, ~(1U << tried));
	m = warp_sending_total(c, &total);
	if (warp_is_sending(other) && (stays_crowded || total < m * WARP_MIN_MEAN_WINDOW)) {
		warp_deactivate(c, better ? rival : tried, s);
		c->deactivated = c->newest_ack;
	}
}

/*
 * Activates an inactive subflow if there is room, or starts a trial, at the end of a round of the
 * first sending subflow.
 */
static inline void warp_activate_or_try(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s, __u64 m,
					__u64 total)
{
	__u64 best = warp_least_marked(c), crowded = warp_crowded_subflows(c);
	int recent = c->newest_ack - c->deactivated < p->min_inactive, room = warp_has_room(m, total), waited;
	__u32 clear, packets = room ? WARP_TRIAL_INTERVAL_PACKETS_WITH_ROOM : WARP_TRIAL_INTERVAL_PACKETS;

	if (best == WARP_NONE && !crowded) {
		c->n_round = 0;
		c->rounds_since_trial = 0;
		c->packets_since_trial = 0;
		return;
	}
	c->rounds_since_trial++;
	/* The number does not wrap before it is large enough for a trial. */
	if (c->packets_since_trial < WARP_TRIAL_INTERVAL_PACKETS_WITH_ROOM)
		c->packets_since_trial += total >> WEFT_PACKET_BITS;
	if (room && best != WARP_NONE) {
		c->n_round++;
		if (!c->left_slow_start || (c->n_round >= p->tau && !recent)) {
			warp_activate(c, best % WEFT_SUBFLOWS);
			c->n_round = 0;
			c->rounds_since_trial = 0;
			c->packets_since_trial = 0;
			return;
		}
	} else {
		c->n_round = 0;
	}
	if (recent)
		return;
	waited = c->rounds_since_trial >= WARP_TRIAL_INTERVAL_TAUS * p->tau;
	clear = waited ? warp_clear_path(c) : WEFT_SUBFLOWS;
	if (clear >= WEFT_SUBFLOWS) {
		if (room && !crowded)
			return;
		if (!(room && warp_marks_rise(c, s)) && !(waited && c->packets_since_trial >= packets))
			return;
	}
	warp_start_trial(c, s, clear);
}

/* Adapts the number of sending subflows to W, at the end of a round of s. */
static inline void warp_adjust_active(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s, __u32 acked,
				      __u32 marked)
{
	__u64 total, first = warp_sending_subflows(c), m;
	int is_first = (first & -first) == 1ULL << s;
	__u32 i;

	if (c->tried) {
		warp_continue_trial(c, p, s, is_first, acked, marked);
		return;
	}
	m = warp_sending_total(c, &total);
	if (warp_is_crowding(c, s)) {
		warp_deactivate(c, s, s);
		c->deactivated = c->newest_ack;
		__sync_fetch_and_or(&c->crowded, 1U << s);
		m--;
	}
	for (i = 1; i < WEFT_SUBFLOWS; i++) {
		if (m < 2 || total >= m * WARP_MIN_MEAN_WINDOW)
			break;
		warp_deactivate(c, warp_worst(c, s, WEFT_SUBFLOWS), s);
		c->deactivated = c->newest_ack;
		c->n_round = 0;
		m--;
	}
	if (is_first)
		warp_activate_or_try(c, p, s, m, total);
}

/* Moves a part of the share of s to the other working subflows. */
WARP_FUNCTION warp_shift(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	__u64 total = 0, others, share, marked = 0, mean, moved, part, gets = 0, counts;
	struct weft_window *w = &c->w[s];
	__u32 r, shift;

	if (!warp_is_sending(w) || warp_is_on_its_own(c, s))
		return 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++)
		gets |= (warp_is_working(c, r, s) & (1 - warp_is_on_its_own(c, r))) << r;
	gets &= ~(1ULL << s);
	counts = gets | 1ULL << s;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]) * (counts >> r & 1);
		total += share;
		marked += warp_times(share, c->w[r].state[WARP_MARKED]);
	}
	share = warp_share(w);
	others = total - share;
	if (!others)
		return 0;
	w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	mean = warp_ratio(marked, total);
	if (w->state[WARP_MARKED] <= mean)
		return 0;
	moved = warp_times(share, (w->state[WARP_MARKED] - mean) * p->kappa >> WARP_BITS);
	warp_move(w, share, share - moved);
	/* Above 512 packets the lowest bits are negligible. */
	shift = others >> 33 ? 13 : 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]) * (gets >> r & 1);
		part = ((share >> shift << WARP_BITS) + (others >> shift) / 2) / (others >> shift);
		warp_move(&c->w[r], 0, warp_times(moved, part));
	}
	return 0;
}

/*
 * Activates a subflow if none sends: the first one that has not timed out twice, otherwise the
 * first established one.
 */
WARP_FUNCTION warp_ensure_one_active(struct weft_connection *c)
{
	__u64 all = warp_alive_subflows(c);
	__u32 r;

	if (warp_sending_subflows(c))
		return 0;
	if (!all) {
		WARP_RARE
		for (r = 0; r < WEFT_SUBFLOWS; r++)
			all |= (__u64)(c->w[r].established & 1) << r;
	}
	if (!all)
		return 0;
	r = warp_lowest(all);
	c->w[r].state[WARP_SHARE] = c->w[r].cwnd;
	c->w[r].active = 1;
	return 0;
}

/*
 * Returns 1 if only the subflow that cut was sending. Then weft_cong_control() has checked that the
 * acknowledged data was sent after the cut.
 */
static inline int warp_was_single(const struct weft_connection *c)
{
	return !c->unacked_since_cut && !c->all_acked_at;
}

/* Returns 1 if the newest acknowledgement of s covers data that was sent after this cut. */
static inline int warp_after_cut(const struct weft_connection *c, __u64 cut, __u32 s)
{
	return warp_was_single(c) || c->subflow[s].last_sent >= cut >> WARP_CUTTER_BITS;
}

/*
 * Returns 1 if that data was also sent after every sending subflow had an acknowledgement since the
 * cut. Returns 0 while another subflow updates unacked_since_cut.
 */
static inline int warp_sent_after_all_acked(const struct weft_connection *c, __u64 cut, __u32 s)
{
	return !c->unacked_since_cut && c->subflow[s].last_sent >= c->all_acked_at && warp_after_cut(c, cut, s);
}

/* Returns 1 if a mark on s cuts windows. */
static inline int warp_reacts_to_mark(const struct weft_connection *c, __u32 s)
{
	return warp_is_on_its_own(c, s) || warp_sent_after_all_acked(c, c->cut, s);
}

/*
 * Records that s had an acknowledgement since the last cut. Other subflows that have nothing in
 * flight are waited for at most one round-trip time.
 */
static inline void warp_on_ack_after_cut(struct weft_connection *c, __u32 s)
{
	__u64 now = c->subflow[s].last_ack;
	__s64 waited = now - (c->cut >> WARP_CUTTER_BITS);
	__u32 others = ~(1U << s);

	if (!c->unacked_since_cut)
		return;
	others &= __sync_fetch_and_and(&c->unacked_since_cut, others);
	/* srtt is in 1/8 us. */
	if (others && waited * 8 <= (__s64)c->w[s].srtt)
		return;
	c->all_acked_at = now;
	c->unacked_since_cut = 0;
}

WARP_FUNCTION warp_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 total, m;

	warp_set_own_marks(c, s, 0);
	warp_set_marked_rounds(c, s, 0);
	__sync_fetch_and_and(&c->crowded, ~(1U << s));
	w->active = 0;
	w->state[WARP_SHARE] = 0;
	w->state[WARP_ALPHA] = p->alpha0;
	w->state[WARP_MARKED] = 0;
	w->state[WARP_TIMEOUTS] = 0;
	c->subflow[s].last_ack = c->newest_ack;
	m = warp_sending_total(c, &total);
	if (!m) {
		w->state[WARP_SHARE] = w->cwnd;
		w->active = 1;
	} else if (!c->tried && warp_has_room(m, total) && warp_begin(c)) {
		warp_activate(c, s);
		warp_end(c);
		warp_apportion_without_raising(c, s);
	}
	/* Once a path has had a mark or a loss, subflows that join later have no slow start. */
	if (c->left_slow_start)
		w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	return 0;
}

WARP_FUNCTION warp_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
			       __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 was = w->state[WARP_SHARE], share = warp_share(w), left, most, m = 0, parts;
	__u32 r;

	for (r = 0; r < WEFT_SUBFLOWS; r++)
		m += warp_is_sending(&c->w[r]);
	if (!w->active || !m || (!warp_is_on_its_own(c, s) && !warp_after_cut(c, c->cut, s)))
		return 0;
	parts = warp_own_marks(c, s) ? 1 : m;
	/* Slow start works on the share; the window is its integer part. */
	if (w->cwnd >= w->ssthresh)
		w->ssthresh = WARP_SSTHRESH_AFTER_SLOW_START;
	left = weft_avoidance_of(&share, w->cwnd < w->ssthresh ? w->ssthresh : 0, acked);
	if (!share)
		share = 1;
	share += ((left << WEFT_PACKET_BITS) + parts * share / 2) / (parts * share);
	if (share > WEFT_CWND_MAX)
		share = WEFT_CWND_MAX;
	__sync_val_compare_and_swap(&w->state[WARP_SHARE], was, share);
	/* After a cut a window may be more than one packet below its share. */
	most = w->cwnd + ((__u64)acked << WEFT_PACKET_BITS);
	if (m > 1) {
		warp_apportion(c);
	} else {
		w->cwnd = share & ~(WEFT_PACKET - 1);
		if (w->cwnd < warp_min_window(w))
			w->cwnd = warp_min_window(w);
	}
	if (w->cwnd > most)
		w->cwnd = most;
	return 0;
}

/* Cuts subflow s alone, which is on its own. */
static inline void warp_cut_on_its_own(struct weft_connection *c, __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 share = warp_share(w), left;

	left = warp_times(share, (1ULL << WARP_BITS) - w->state[WARP_ALPHA] / 2);
	warp_move(w, share, left);
	warp_set_own_marks(c, s, (warp_in_slow_start(w) ? WARP_OWN_MARKS : warp_own_marks(c, s)) - 1);
}

WARP_FUNCTION warp_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	__u64 cut = c->cut, now = c->subflow[s].last_ack, share, left, is_cut;
	__u32 r;

	if (warp_is_on_its_own(c, s)) {
		warp_cut_on_its_own(c, s);
		goto apportion;
	}
	if (!warp_sent_after_all_acked(c, cut, s) ||
	    __sync_val_compare_and_swap(&c->cut, cut, now << WARP_CUTTER_BITS | s) != cut)
		return 0;
	c->unacked_since_cut = warp_sending_subflows(c) & ~(1ULL << s);
	c->all_acked_at = 0;
	WARP_RARE
	for (r = 0; r < WEFT_SUBFLOWS; r++) {
		share = warp_share(&c->w[r]);
		left = warp_times(share, (1ULL << WARP_BITS) - c->w[r].state[WARP_ALPHA] / 2);
		is_cut = (1 - warp_is_on_its_own(c, r)) & warp_is_sending(&c->w[r]);
		warp_move(&c->w[r], 0, (left - share) * is_cut);
		c->w[r].ssthresh -= (c->w[r].ssthresh - WARP_SSTHRESH_AFTER_SLOW_START) * is_cut;
	}
apportion:
	warp_apply_min_window(c);
	warp_apportion_without_raising(c, s);
	warp_leave_slow_start(c, s);
	return 0;
}

WARP_FUNCTION warp_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				 __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 rounds;

	w->state[WARP_TIMEOUTS] = 0;
	w->state[WARP_ALPHA] = dctcp_estimate(w->state[WARP_ALPHA], p->g, acked, marked);
	if (acked) {
		w->state[WARP_MARKED] = warp_ratio(marked < acked ? marked : acked, acked);
		rounds = warp_marked_rounds(c, s);
		rounds += rounds <= WARP_MARKED_ROUNDS;
		warp_set_marked_rounds(c, s, 2ULL * marked >= acked ? rounds : 0);
	}
	if (warp_begin(c)) {
		/*
		 * If the last two sending subflows stop at the same time, each may leave the
		 * connection to the other.
		 */
		warp_ensure_one_active(c);
		warp_shift(c, p, s);
		warp_adjust_active(c, p, s, acked, marked);
		warp_end(c);
	}
	warp_apportion(c);
	/*
	 * Acknowledgements of an inactive subflow do not grow its window, so it would keep the one
	 * packet that a timeout left.
	 */
	if (!w->active && w->cwnd < WARP_MIN_CONNECTION_WINDOW)
		w->cwnd = WARP_MIN_CONNECTION_WINDOW;
	return 0;
}

WARP_FUNCTION warp_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p,
					   __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 share = warp_share(w);

	warp_set_own_marks(c, s, 0);
	if (warp_is_sending(w)) {
		warp_move(w, share, share / 2);
		warp_apply_min_window(c);
		warp_apportion_without_raising(c, s);
	} else {
		w->cwnd = w->cwnd / 2 & ~(WEFT_PACKET - 1);
		if (w->cwnd < warp_min_window(w))
			w->cwnd = warp_min_window(w);
	}
	warp_leave_slow_start(c, s);
	return 0;
}

WARP_FUNCTION warp_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	struct weft_window *w = &c->w[s];
	__u64 half = w->cwnd / 2;

	c->left_slow_start = 1;
	warp_set_own_marks(c, s, 0);
	w->cwnd = WEFT_PACKET;
	w->state[WARP_TIMEOUTS]++;
	if (half < 2 * WEFT_PACKET)
		half = 2 * WEFT_PACKET;
	if (first)
		w->ssthresh = half;
	if (!w->active)
		return 0;
	w->state[WARP_SHARE] = WEFT_PACKET;
	if (w->state[WARP_TIMEOUTS] < 2 || !(warp_alive_subflows(c) & ~(1ULL << s)))
		return 0;
	w->active = 0;
	w->state[WARP_SHARE] = 0;
	c->deactivated = c->newest_ack;
	warp_ensure_one_active(c);
	return 0;
}

/*
 * Undoes a spurious loss or timeout: restores the share. A subflow that was deactivated after two
 * timeouts is activated.
 */
WARP_FUNCTION warp_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 share = c->subflow[s].prior_state[WARP_SHARE];

	if (share && w->state[WARP_TIMEOUTS] >= 2 && w->established)
		w->active = 1;
	w->state[WARP_TIMEOUTS] = 0;
	weft_undo(c, s);
	if (!warp_is_sending(w))
		return 0;
	if (warp_share(w) < share)
		w->state[WARP_SHARE] = share;
	warp_apportion(c);
	return 0;
}

WARP_FUNCTION warp_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].active = 0;
	c->w[s].state[WARP_SHARE] = 0;
	warp_ensure_one_active(c);
	return 0;
}

#endif
