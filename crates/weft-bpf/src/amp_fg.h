/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * AMP-FG: Ye, Feng, Xie, Huang and Li, "Fine-Grained Congestion Control for Multipath TCP in Data
 * Center Networks", IEEE Access 7, 2019, section IV, equations (1) to (7). The behaviour is that of
 * amp_fg.rs of weft-cc, event by event; amp_fg.rs documents the choices where the paper contradicts
 * itself or is silent.
 *
 * Deviations: alpha is in units of 2^-30; powers come from tables and series, within 2^-30 of the
 * exact values. If the previous round had more than 1,024 packets, only the marks of every second,
 * fourth, eighth... packet are stored, and each stored mark also stands for the packets between.
 *
 * The marks of a round do not fit the state of a window. They are stored in rows, which have two
 * events of their own. The function amp_fg_rows_ack is called before on_ack, for every
 * acknowledgement that delivers data, whether or not the window may grow. The function
 * amp_fg_rows_round is called at the end of a round, before on_round.
 */
#ifndef WEFT_AMP_FG_H
#define WEFT_AMP_FG_H

#include "repeat.h"
#include "weft.h"

/*
 * State: alpha of the last complete round, in 2^-30: the part of the window that equation (7)
 * removes.
 */
#define AMP_FG_ALPHA 0
#define AMP_FG_ALPHA_BITS 30
/* State: marked packets of the current round. */
#define AMP_FG_MARKED 1
/*
 * State: packets that got a position from a duplicate acknowledgement and are not yet acknowledged.
 */
#define AMP_FG_COUNTED_BY_DUPACKS 2
/* State: AMP_FG_COUNTED_BY_DUPACKS before the last timeout, less the packets acknowledged since. */
#define AMP_FG_PRIOR_COUNTED 3

/*
 * Positions per row. A round almost always has at most twice as many packets as the previous one.
 */
#define AMP_FG_POSITIONS 2048
#define AMP_FG_WORDS (AMP_FG_POSITIONS / 64)

/* Equation (1): bit k - 1 is m_j of packet j = k 2^shift, counted from 1. */
struct amp_fg_row {
	__u64 bits[AMP_FG_WORDS];
	__u32 shift;
	__u32 reserved;
};

/* Marks of a subflow in the current and the previous round. */
struct amp_fg_rows {
	struct amp_fg_row row[2];
	__u32 now;     /* index of the row of the current round */
	__u32 packets; /* packets of the round so far; at its end, cw of equations (3) to (5) */
	__u32 changes; /* the sum of equation (3) over these packets */
	__u32 last;    /* m_j of the newest packet */
};

/* Fixed point of logarithms and powers: 2^-32. */
#define AMP_FG_ONE (1ULL << 32)
/* 2 / ln 2, in 2^-29. */
#define AMP_FG_TWO_LOG2_E 1549082005ULL
/* ln 2, in 2^-32. */
#define AMP_FG_LN_2 2977044472ULL

/* log2(1 + i / 16), in 2^-32. */
static const __u64 amp_fg_logs[16] = {
	0x00000000, 0x1663f6fb, 0x2b803474, 0x3f782d72, 0x5269e12f, 0x646eea24, 0x759d4f81, 0x86082807,
	0x95c01a3a, 0xa4d3c25e, 0xb3500472, 0xc1404eae, 0xceaecfeb, 0xdba4a47b, 0xe829fb69, 0xf446359b,
};

/* 2^(-i / 16), in 2^-32. */
static const __u64 amp_fg_roots[16] = {
	0x100000000, 0xf5257d15, 0xeac0c6e8, 0xe0ccdeec, 0xd744fccb, 0xce248c15, 0xc5672a11, 0xbd08a39f,
	0xb504f334,  0xad583eea, 0xa5fed6aa, 0x9ef53261, 0x9837f052, 0x91c3d374, 0x8b95c1e4, 0x85aac368,
};

/**
 * amp_fg_log2() - log2(x) of an integer of at least 1, in 2^-32
 *
 * With f the largest sixteenth not above x / 2^whole:
 *
 *   log2(x) = whole + log2(f) + 2 / ln 2 (z + z^3 / 3 + z^5 / 5 + ...)
 *   z = (x / 2^whole - f) / (x / 2^whole + f) < 1/33
 */
static inline __u64 amp_fg_log2(__u32 x)
{
	__u64 m, f, z, z2, series;
	__u32 i, half, whole = 0;

	for (half = 16; half; half /= 2) {
		if (x >> (whole + half))
			whole += half;
	}
	m = (__u64)x << (32 - whole);
	i = m >> 28 & 15;
	f = (16ULL + i) << 28;
	/* z and its powers are in 2^-35. */
	z = ((m - f) << 35) / (m + f);
	z2 = z * z >> 35;
	series = z + (z * (z2 / 3 + (z2 * z2 >> 35) / 5) >> 35);
	return ((__u64)whole << 32) + amp_fg_logs[i] + (series * AMP_FG_TWO_LOG2_E >> 32);
}

/*
 * Returns 2^-y, both in 2^-32. The whole sixteenths of y use the table. With a = ln 2 times the
 * rest of y, e^-a = 1 - a (1 - a / 2 (1 - a / 3 (...))).
 */
static inline __u64 amp_fg_exp2(__u64 y)
{
	__u64 a = (y & ((1 << 28) - 1)) * AMP_FG_LN_2 >> 32, e = AMP_FG_ONE;
	__u32 n;

	for (n = 5; n > 0; n--)
		e = AMP_FG_ONE - (a * e >> 32) / n;
	return (amp_fg_roots[y >> 28 & 15] * (e >> 1) >> 31) >> (y >> 32 & 63);
}

/*
 * Returns m_j of a row, j counted from 1: the stored bit of j or of the next stored packet; 0
 * beyond the end.
 */
static inline __u32 amp_fg_get(const struct amp_fg_row *row, __u32 j)
{
	__u32 shift = row->shift & 31, k = (j + (1U << shift) - 1) >> shift;

	if (!k || k > AMP_FG_POSITIONS)
		return 0;
	return row->bits[(k - 1) / 64 % AMP_FG_WORDS] >> ((k - 1) % 64) & 1;
}

/* Context of a weft_repeat() loop. */
struct amp_fg_work {
	struct amp_fg_rows *rows;
	__u32 marked;	  /* marked packets of the acknowledgement */
	__u32 neighbours; /* the parameter of this name */
	__u64 log_cw;
	__u64 sum; /* sum of equation (5) */
};

/*
 * Assigns the next position to packet j of an acknowledgement. Its first packets are the marked
 * ones.
 */
static long amp_fg_push(__u32 j, void *context)
{
	struct amp_fg_work *work = context;
	struct amp_fg_rows *rows = work->rows;
	struct amp_fg_row *row = &rows->row[rows->now & 1];
	__u32 marked = j < work->marked, shift = row->shift & 31, packet = ++rows->packets, k = packet >> shift;

	rows->changes += marked != (work->neighbours ? rows->last : amp_fg_get(&rows->row[~rows->now & 1], packet));
	rows->last = marked;
	if (marked && k << shift == packet && k <= AMP_FG_POSITIONS)
		row->bits[(k - 1) / 64 % AMP_FG_WORDS] |= 1ULL << ((k - 1) % 64);
	return 0;
}

/* Equations (3) and (4): adds w_j = (j / cw)^beta if packet j = (k + 1) 2^shift was marked. */
static long amp_fg_weigh(__u32 k, void *context)
{
	struct amp_fg_work *work = context;
	struct amp_fg_rows *rows = work->rows;
	struct amp_fg_row *row = &rows->row[rows->now & 1];
	__u32 j = (k + 1) << (row->shift & 31);

	if (!amp_fg_get(row, j) || !j)
		return 0;
	work->sum += amp_fg_exp2((work->log_cw - amp_fg_log2(j)) * rows->changes / rows->packets);
	return 0;
}

/* Equation (5), in 2^-30. */
static inline __u64 amp_fg_estimate(struct amp_fg_rows *rows)
{
	__u32 shift = rows->row[rows->now & 1].shift & 31, positions = rows->packets >> shift;
	struct amp_fg_work work = { .rows = rows, .log_cw = amp_fg_log2(rows->packets) };

	weft_repeat(positions < AMP_FG_POSITIONS ? positions : AMP_FG_POSITIONS, amp_fg_weigh, &work);
	return ((work.sum << shift) / rows->packets + 2) >> (32 - AMP_FG_ALPHA_BITS);
}

/*
 * Records an acknowledgement of @acked packets. A duplicate (@acked is 0) delivers one packet and
 * acknowledges none.
 */
static inline void amp_fg_rows_ack(struct amp_fg_rows *rows, struct weft_window *w,
				   const volatile struct weft_parameters *p, __u32 acked, __u32 marked)
{
	struct amp_fg_work work = { .rows = rows, .marked = marked, .neighbours = p->neighbours };
	__u64 ahead = w->state[AMP_FG_COUNTED_BY_DUPACKS], prior;
	__u32 new = acked;

	if (!acked) {
		new = 1;
		w->state[AMP_FG_COUNTED_BY_DUPACKS]++;
	} else if (ahead) {
		new = acked > ahead ? acked - ahead : 0;
		w->state[AMP_FG_COUNTED_BY_DUPACKS] = ahead > acked ? ahead - acked : 0;
	}
	prior = w->state[AMP_FG_PRIOR_COUNTED];
	w->state[AMP_FG_PRIOR_COUNTED] = prior > acked ? prior - acked : 0;
	w->state[AMP_FG_MARKED] += marked < new ? marked : new;
	weft_repeat(new, amp_fg_push, &work);
}

/* Equations (3) to (5). The row of the current round becomes that of the previous one. */
static inline void amp_fg_rows_round(struct amp_fg_rows *rows, struct weft_window *w)
{
	struct amp_fg_row *next;
	__u32 shift;

	if (!rows->packets)
		return;
	w->state[AMP_FG_ALPHA] = w->state[AMP_FG_MARKED] ? amp_fg_estimate(rows) : 0;
	rows->now = ~rows->now & 1;
	next = &rows->row[rows->now & 1];
	__builtin_memset(next->bits, 0, sizeof(next->bits));
	for (shift = 0; shift < 20; shift++) {
		if (rows->packets >> shift <= AMP_FG_POSITIONS / 2)
			break;
	}
	next->shift = shift;
	rows->packets = 0;
	rows->changes = 0;
	rows->last = 0;
}

static inline void amp_fg_on_open(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	c->w[s].state[AMP_FG_ALPHA] = 0;
	c->w[s].state[AMP_FG_MARKED] = 0;
	c->w[s].state[AMP_FG_COUNTED_BY_DUPACKS] = 0;
	c->w[s].state[AMP_FG_PRIOR_COUNTED] = 0;
}

/* Equation (6), for each ACK of a round without marks: cw <- cw + (1 - alpha) / cw. */
static inline void amp_fg_on_ack(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				 __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 left;

	if (w->state[AMP_FG_MARKED])
		return;
	left = weft_avoidance(w, acked);
	/* 2^-24 packets times a factor in 2^-24 */
	left *= ((1ULL << AMP_FG_ALPHA_BITS) - w->state[AMP_FG_ALPHA]) >> (AMP_FG_ALPHA_BITS - WEFT_PACKET_BITS);
	w->cwnd += (left + w->cwnd / 2) / w->cwnd;
}

/* Ends slow start. The window is cut at the end of the round. */
static inline void amp_fg_on_mark(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];

	if (w->ssthresh > w->cwnd)
		w->ssthresh = w->cwnd;
}

/* Returns cw (1 - part), with part in 2^-30. */
static inline __u64 amp_fg_left(__u64 cwnd, __u64 part)
{
	__u64 left = (1ULL << AMP_FG_ALPHA_BITS) - part;

	return ((cwnd >> WEFT_PACKET_BITS) * left >> (AMP_FG_ALPHA_BITS - WEFT_PACKET_BITS)) +
	       ((cwnd & (WEFT_PACKET - 1)) * left >> AMP_FG_ALPHA_BITS);
}

/* Equation (7), if the round had a mark: cw <- (1 - alpha) cw. */
static inline void amp_fg_on_round(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				   __u32 acked, __u32 marked)
{
	struct weft_window *w = &c->w[s];
	__u64 least = w->cwnd < p->cwnd_min ? w->cwnd : p->cwnd_min;

	if (w->state[AMP_FG_MARKED] && !w->in_recovery) {
		w->cwnd = amp_fg_left(w->cwnd, w->state[AMP_FG_ALPHA]);
		if (w->cwnd < least)
			w->cwnd = least;
		w->ssthresh = w->cwnd;
	}
	w->state[AMP_FG_MARKED] = 0;
}

/* Removes half of the window, or the part alpha if that is larger. */
static inline void amp_fg_on_fast_retransmit(struct weft_connection *c, const volatile struct weft_parameters *p,
					     __u32 s)
{
	struct weft_window *w = &c->w[s];
	__u64 half = 1ULL << (AMP_FG_ALPHA_BITS - 1), alpha = w->state[AMP_FG_ALPHA];

	w->cwnd = amp_fg_left(w->cwnd, alpha > half ? alpha : half);
	if (w->cwnd < 2 * WEFT_PACKET)
		w->cwnd = 2 * WEFT_PACKET;
	w->ssthresh = w->cwnd;
	w->state[AMP_FG_PRIOR_COUNTED] = 0;
}

static inline void amp_fg_on_timeout(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s,
				__u32 first)
{
	weft_collapse(&c->w[s], first);
	if (first)
		c->w[s].state[AMP_FG_PRIOR_COUNTED] = c->w[s].state[AMP_FG_COUNTED_BY_DUPACKS];
	c->w[s].state[AMP_FG_COUNTED_BY_DUPACKS] = 0;
}

static inline void amp_fg_on_undo(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
	struct weft_window *w = &c->w[s];

	weft_undo(c, s);
	if (w->state[AMP_FG_COUNTED_BY_DUPACKS] < w->state[AMP_FG_PRIOR_COUNTED])
		w->state[AMP_FG_COUNTED_BY_DUPACKS] = w->state[AMP_FG_PRIOR_COUNTED];
	w->state[AMP_FG_PRIOR_COUNTED] = 0;
}

static inline void amp_fg_on_close(struct weft_connection *c, const volatile struct weft_parameters *p, __u32 s)
{
}

#endif
