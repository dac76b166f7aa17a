/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * What an algorithm, the BPF programs around it and user space share: the connection as an array of subflow
 * windows, with the names of the crate weft-cc (connection.rs), and what is counted.
 *
 * This is the one definition. src/layout.rs mirrors it for user space; a test compares the two by BTF. The
 * algorithms (amp.h and its neighbours) use nothing but this file, so they compile natively as well.
 *
 * Fixed point: windows are in 2^-24 packets of one MSS, fractions have the scale that is said beside them.
 */
#ifndef WEFT_H
#define WEFT_H

#include <linux/types.h>

/* Subflows a connection can have here. The kernel's path manager allows one more; it falls back to reno. */
#define WEFT_SUBFLOWS 8

/* A connection's last slot has been given back; none is taken any more. */
#define WEFT_CLOSED (1U << 31)

/* Events that one user's sockets may cause in a second, but for suppression and release. */
#define WEFT_EVENTS_PER_SECOND 20000

/* One packet. */
#define WEFT_PACKET_BITS 24
#define WEFT_PACKET (1ULL << WEFT_PACKET_BITS)
/* No window grows above this, so that products of windows and fractions of 2^-20 fit 64 bits. */
#define WEFT_CWND_MAX (WEFT_PACKET << 19)

enum weft_algorithm {
	WEFT_AMP = 1,
	WEFT_DCM = 2,
	WEFT_DCTCP = 3,
	WEFT_LIA = 4,
	WEFT_XMP = 5,
	WEFT_AMP_FG = 6,
	WEFT_WARP = 7,
};

/* Parameters of an algorithm, set before it is loaded; the names of weft-cc's parameters. */
struct weft_parameters {
	__u64 cwnd_min; /* 2^-24 packets */
	__u64 bulk;	/* bytes acknowledged and received, from which on a connection is worth further subflows */
	__u32 beta;	/* 2^-20; 0 where there is none */
	__u32 alpha0;	/* 2^-30 */
	__u32 g;	/* 2^-24 */
	__u32 gamma;	/* rounds */
	__u32 tau;	/* rounds */
	__u32 ssr;	/* 0 or 1 */
	__u32 per_ack;	/* 0 or 1 */
	__u32 dctcp_cut; /* 0 or 1 */
	__u32 neighbours; /* 0 or 1 */
	__u32 kappa;	/* 2^-30 */
	__u32 min_inactive; /* us that a subflow of warp stays inactive at least; 0 in the native build */
	__u32 reserved;
};

/* One subflow's congestion window. The algorithm owns cwnd, ssthresh, active and state, the transport the rest. */
struct weft_window {
	__u64 cwnd;	/* 2^-24 packets */
	__u64 ssthresh; /* 2^-24 packets */
	__u64 state[4];	/* each algorithm names its own indices */
	__u32 srtt;	/* 1/8 us, as the kernel keeps it; 0 before the first sample */
	__u8 active;	/* may the scheduler give this subflow new data? */
	__u8 established;
	__u8 in_recovery; /* fast recovery, or recovery from a timeout */
	__u8 reserved;
};

/* What the path manager and displays need to know of a subflow besides its window. */
struct weft_subflow {
	__u8 local[16]; /* IPv4 addresses in the first four bytes */
	__u8 remote[16];
	__u16 local_port;
	__u16 remote_port;
	__u16 family; /* AF_INET or AF_INET6 */
	__u16 reserved;
	__u32 mss;
	__u32 owner; /* by chance, never 0: the socket whose slot this is */
	__u64 acked;	  /* packets delivered */
	__u64 marked;	  /* of those, reported as marked */
	__u64 marks;	  /* cuts by marks */
	__u64 rounds;
	__u64 fast_retransmits;
	__u64 timeouts;
	__u64 last_ack;	  /* us, the kernel's TCP clock */
	__u64 last_sent;  /* the same clock: when the newest packet was sent of those acknowledged; warp's only */
	__u64 prior_cwnd; /* of the window, before the last loss or timeout, in case it proves spurious */
	__u64 prior_ssthresh;
	__u64 prior_state[4];
	__u64 sent;	/* bytes acknowledged, as of the last round */
	__u64 received; /* bytes received, some 64 KB of the newest not yet counted */
};

/* A connection: MPTCP's, or one TCP socket that has a subflow only. */
struct weft_connection {
	struct weft_window w[WEFT_SUBFLOWS];
	struct weft_subflow subflow[WEFT_SUBFLOWS];
	__u64 increase;	  /* lia, dcm: what a packet acknowledged adds, in 2^-38 packets */
	__u32 initial;	  /* amp: the subflow that is never suppressed */
	__u32 suppressed; /* amp: are all others? */
	__u32 n_round;	  /* amp: rounds that speak for a change; warp: rounds with room for one more subflow */
	__u32 idle;	  /* bit s: subflow s had nothing to acknowledge of late */
	__u32 open;	  /* bit s: slot s is taken; WEFT_CLOSED */
	__u32 token;	  /* MPTCP's; 0 of a TCP connection */
	__u32 algorithm;
	__u32 bulk; /* has the daemon been notified by WEFT_BULK? */
	__u64 suppressions;
	__u64 releases;
	__u64 changed; /* ns, CLOCK_MONOTONIC: the last suppression or release */
	__u64 opened;  /* ns, CLOCK_MONOTONIC */
	__u64 netns;   /* number of the network namespace */
	__u64 cut;     /* warp: when the last cut was made, and by whose mark; see warp.h */
	__u64 all_acked_at; /* warp: us: when all had an acknowledgement after the last cut; 0: not yet, or no other sent */
	__u64 deactivated; /* warp: us, the kernel's TCP clock: when a subflow was last deactivated */
	__u32 left_slow_start; /* warp: 1 once slow start has ended */
	__u32 moving;  /* warp: 1 while one of the subflows moves shares */
	__u32 unacked_since_cut; /* warp: bit s: subflow s sends and has had no acknowledgement since the last cut */
	__u32 rounds_without_room; /* warp: of the first sending subflow, since the last trial */
	__u64 newest_ack; /* warp: us: when the newest acknowledgement came, of any subflow */
	__u32 tried;	  /* warp: the subflow on trial, counted from 1; 0: none */
	__u32 last_tried; /* warp: the subflow that was tried last */
	__u32 rival;	  /* warp: the subflow that had the most marks when the trial began */
	__u32 trial_rounds; /* warp: rounds of the subflow on trial */
	__u32 trial_rounds_of_first; /* warp: rounds of the first sending subflow meanwhile */
	__u32 trial_acked;
	__u32 trial_marked;
	__u32 reserved;
};

/* Events that the daemon receives at once. */
enum weft_event_kind {
	WEFT_SUPPRESS = 1, /* this subflow is to carry no new data */
	WEFT_RELEASE = 2,  /* this subflow may carry data again */
	WEFT_JOINED = 3,   /* this subflow has come to an MPTCP connection */
	WEFT_LEFT = 4,	   /* this subflow has gone */
	WEFT_BULK = 5,	   /* this subflow was the first to carry `bulk` bytes; once a connection */
	WEFT_NO_ECN = 6,	   /* this subflow has no ECN and is reno */
	WEFT_NO_SLOT = 7,  /* this subflow got neither entry nor slot and is reno */
	WEFT_DEACTIVATE = 8,	   /* this subflow is to carry no new data, whatever the others do */
	WEFT_ACTIVATE = 9,	   /* this subflow may carry data again */
};

struct weft_event {
	__u64 time; /* ns, CLOCK_MONOTONIC: when it was decided */
	__u32 kind;
	__u32 token;
	__u32 algorithm;
	__u32 slot;   /* which subflow of the connection */
	__u32 active; /* as decided, also for WEFT_JOINED */
	__u16 family;
	__u16 local_port;
	__u16 remote_port;
	__u16 reserved;
	__u32 reserved2;
	__u8 local[16];
	__u8 remote[16];
};

/* Rules there may be. */
#define WEFT_RULES 32

/* Which sockets get an algorithm; the first rule that fits decides. */
struct weft_rule {
	__u64 cgroup;	   /* number of a cgroup that the socket is below; 0: any */
	__u32 network[4];  /* IPv6, in network order; IPv4 addresses are mapped */
	__u32 bits;	   /* of it that count */
	__u32 destination; /* 1: only sockets that connect, and to this network */
	__u32 first_port;  /* of the other end, or of a socket that listens */
	__u32 last_port;
	char algorithm[16]; /* empty: neither is this a rule nor what follows */
};

/* A slot that user space has found to be nobody's. */
struct weft_lost {
	__u64 key; /* of the connection */
	__u32 slot;
	__u32 owner;
};

/* What went another way than planned, over all connections. */
struct weft_totals {
	__u64 connections;  /* ever opened */
	__u64 subflows;	    /* ever opened */
	__u64 without_ecn;  /* fell back to reno: the other end knows no ECN */
	__u64 without_slot; /* fell back to reno: no entry or no slot was free */
	__u64 lost_events;  /* the ring was full, or their user had more than WEFT_EVENTS_PER_SECOND */
};

static inline void weft_limit(struct weft_window *w)
{
	if (w->cwnd > WEFT_CWND_MAX)
		w->cwnd = WEFT_CWND_MAX;
}

/* Slow start (RFC 5681, section 3.1) and what reno.rs of weft-cc makes of it: returns the part of `acked`, in 2^-24
 * packets, that is left for congestion avoidance, at most a window of it.
 */
static inline __u64 weft_avoidance_of(__u64 *cwnd, __u64 ssthresh, __u32 acked)
{
	__u64 left, grown;

	if (acked > 1 << 15)
		acked = 1 << 15;
	left = (__u64)acked << WEFT_PACKET_BITS;
	if (*cwnd < ssthresh) {
		grown = *cwnd + left;
		left = 0;
		if (grown > ssthresh)
			/* ssthresh need not be whole; what crosses it does so in whole packets. */
			left = (grown - ssthresh) & ~(WEFT_PACKET - 1);
		*cwnd = grown - left;
	}
	return left < *cwnd ? left : *cwnd;
}

static inline __u64 weft_avoidance(struct weft_window *w, __u32 acked)
{
	return weft_avoidance_of(&w->cwnd, w->ssthresh, acked);
}

/* RFC 5681, equation (3): one packet a round. */
static inline void weft_grow(struct weft_window *w, __u32 acked)
{
	__u64 left = weft_avoidance(w, acked);

	w->cwnd += ((left << WEFT_PACKET_BITS) + w->cwnd / 2) / w->cwnd;
}

/* A cut by 1 / beta, no lower than cwnd_min. */
static inline void weft_cut(struct weft_window *w, const volatile struct weft_parameters *p)
{
	if (p->beta)
		w->cwnd -= (w->cwnd << 20) / p->beta;
	if (w->cwnd < p->cwnd_min)
		w->cwnd = p->cwnd_min;
	w->ssthresh = w->cwnd;
}

/* RFC 5681, equation (4) and section 3.2, step 2. */
static inline void weft_halve(struct weft_window *w)
{
	w->ssthresh = w->cwnd / 2 > 2 * WEFT_PACKET ? w->cwnd / 2 : 2 * WEFT_PACKET;
	w->cwnd = w->ssthresh;
}

/* The loss window of RFC 5681, section 3.1, and equation (4). Where the segment has timed out before, or the window was reduced
 * within this recovery, "the value of ssthresh is held constant".
 */
static inline void weft_collapse(struct weft_window *w, __u32 first)
{
	if (first)
		weft_halve(w);
	w->cwnd = WEFT_PACKET;
}

/* The last loss or timeout of subflow s proved spurious: the window is at least what it was before (tcp_reno_undo_cwnd). */
static inline void weft_undo(struct weft_connection *c, __u32 s)
{
	if (c->w[s].cwnd < c->subflow[s].prior_cwnd)
		c->w[s].cwnd = c->subflow[s].prior_cwnd;
	if (c->w[s].ssthresh < c->subflow[s].prior_ssthresh)
		c->w[s].ssthresh = c->subflow[s].prior_ssthresh;
}

/* Saves the window of subflow s before a loss or timeout. */
static inline void weft_save_prior(struct weft_connection *c, __u32 s)
{
	c->subflow[s].prior_cwnd = c->w[s].cwnd;
	c->subflow[s].prior_ssthresh = c->w[s].ssthresh;
	c->subflow[s].prior_state[0] = c->w[s].state[0];
	c->subflow[s].prior_state[1] = c->w[s].state[1];
	c->subflow[s].prior_state[2] = c->w[s].state[2];
	c->subflow[s].prior_state[3] = c->w[s].state[3];
}

#endif
