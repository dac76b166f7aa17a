/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/* Activity of Warp's subflows: room, trials and crowded paths; warp.h describes terms and concurrency. */
#ifndef WEFT_WARP_ACTIVITY_H
#define WEFT_WARP_ACTIVITY_H

#include "warp_windows.h"

/* A trial begins after at least this many times tau rounds since the last one, and lasts at most as long. */
#define WARP_TRIAL_INTERVAL_TAUS 8
/*
 * A trial begins after at least this many packets since the last one: bursts of the scheduler leave
 * inactive subflows in addition to W (TRIAL_INTERVAL_PACKETS of weft-cc).
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

#endif
