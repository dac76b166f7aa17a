/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * Types shared by the algorithms, the BPF programs around them and user space: a connection as an
 * array of subflow windows, with the names of weft-cc (connection.rs), and counters.
 *
 * This file is the only definition. abi.rs mirrors it for user space; a test of weft-kernel compares
 * both through BTF. The algorithms (amp.h, dctcp.h and so on) include no kernel header, so they also
 * compile natively.
 *
 * Fixed point: windows are in units of 2^-24 packets of one MSS. The comment of each fraction names
 * its scale.
 */
#ifndef WEFT_H
#define WEFT_H

#include <linux/types.h>

/*
 * Maximum number of coupled subflows per connection. The kernel's path manager allows one more;
 * that one falls back to Reno.
 */
#define WEFT_SUBFLOWS 8

/*
 * Flag in weft_connection.open: the last slot has been released and no slot may be taken any more.
 */
#define WEFT_CLOSED (1U << 31)

/* Bits of the fraction of a window, and one packet as a window. */
#define WEFT_PACKET_BITS 24
#define WEFT_PACKET (1ULL << WEFT_PACKET_BITS)
/* Maximum window, so that the product of a window and a fraction in 2^-20 fits 64 bits. */
#define WEFT_CWND_MAX (WEFT_PACKET << 19)

enum weft_algorithm {
	WEFT_AMP = 1,
	WEFT_DCM = 2,
	WEFT_DCTCP = 3,
	WEFT_LIA = 4,
	WEFT_XMP = 5,
	WEFT_AMP_FG = 6,
	WEFT_WARP = 7,
	WEFT_OLIA = 8,
	WEFT_BALIA = 9,
	WEFT_WVEGAS = 10,
};

/* Parameters of an algorithm, set before its program is loaded. The names are those of weft-cc. */
struct weft_parameters {
	__u64 cwnd_min; /* 2^-24 packets */
	__u64 bulk;	/* bytes acknowledged plus received until WEFT_BULK */
	__u32 beta;	/* 2^-20; 0: the algorithm has no beta */
	__u32 alpha0;	/* 2^-30 */
	__u32 g;	/* 2^-24 */
	__u32 gamma;	/* rounds; wvegas: packets */
	__u32 tau;	/* rounds */
	__u32 ssr;	/* 0 or 1 */
	__u32 per_ack;	/* 0 or 1 */
	__u32 dctcp_cut; /* 0 or 1 */
	__u32 neighbours; /* 0 or 1 */
	__u32 kappa;	/* 2^-30 */
	__u32 min_inactive; /* warp: us from a deactivation to an activation; 0 natively */
	__u32 max_events_per_user; /* per second, over all algorithms */
	__u32 total_alpha; /* packets */
	__u32 drain;	   /* 0 or 1 */
};

/*
 * The congestion window of a subflow. The algorithm owns cwnd, ssthresh, active and state; the
 * transport owns the other members.
 */
struct weft_window {
	__u64 cwnd;	/* 2^-24 packets */
	__u64 ssthresh; /* 2^-24 packets */
	__u64 state[4];	/* the algorithm's header names the indices */
	__u32 srtt;	/* 1/8 us, as in struct tcp_sock; 0 before the first sample */
	__u8 active;	/* 1 if the scheduler may assign new data to this subflow */
	__u8 established;
	__u8 in_recovery; /* 1 in fast recovery and in recovery from a timeout */
	__u8 reserved;
};

/* Data on a subflow for the path manager and for displays, besides its window. */
struct weft_subflow {
	__u8 local[16]; /* an IPv4 address fills the first four bytes */
	__u8 remote[16];
	__u16 local_port;
	__u16 remote_port;
	__u16 family; /* AF_INET or AF_INET6 */
	__u16 reserved;
	__u32 mss;
	__u32 owner; /* random and never 0: identifies the socket that owns the slot */
	__u64 acked;	  /* packets delivered */
	__u64 marked;	  /* packets delivered and reported as marked */
	__u64 marks;	  /* window reductions caused by marks */
	__u64 rounds;
	__u64 fast_retransmits;
	__u64 timeouts;
	__u64 timed_out_at; /* us, the kernel's TCP clock: time of the last timeout */
	__u64 last_ack;	  /* us, the kernel's TCP clock (tp->tcp_mstamp) */
	__u64 last_sent;  /* warp: us: send time of the newest packet that was acknowledged */
	__u64 prior_cwnd; /* prior_*: the window before the last loss or timeout, for undo */
	__u64 prior_ssthresh;
	__u64 prior_state[4];
	__u64 sent;	/* bytes acknowledged at the end of the last round */
	__u64 received; /* bytes received; lags by at most WEFT_RECORD_BYTES */
};

/* A connection: an MPTCP connection, or a TCP socket with one subflow. */
struct weft_connection {
	struct weft_window w[WEFT_SUBFLOWS];
	struct weft_subflow subflow[WEFT_SUBFLOWS];
	__u64 increase;	  /* lia, dcm: growth per acknowledged packet, in 2^-38 packets */
	__u32 initial;	  /* amp: number of the subflow that is never suppressed */
	__u32 suppressed; /* amp: 1 if all subflows but the initial one are suppressed */
	__u32 n_round;	  /* amp: rounds in favour of a change; warp: rounds with room */
	__u32 idle;	  /* bit s: no recent acknowledgement on subflow s (weft_find_idle) */
	__u32 open;	  /* bit s: slot s is taken; or WEFT_CLOSED */
	__u32 token;	  /* MPTCP token; 0: a TCP connection */
	__u32 algorithm;
	__u32 bulk; /* 1 if WEFT_BULK has been sent to the daemon */
	__u64 suppressions;
	__u64 releases;
	__u64 changed; /* ns, CLOCK_MONOTONIC: last suppression or release */
	__u64 opened;  /* ns, CLOCK_MONOTONIC */
	__u64 netns;   /* inode number of the network namespace */
	__u64 cut;     /* warp: time and cause of the last cut; see WARP_CUTTER_BITS */
	__u64 all_acked_at; /* warp: us: all senders acknowledged since the cut; 0: not yet */
	__u64 deactivated; /* warp: us, TCP clock: last deactivation of a subflow */
	__u32 left_slow_start; /* warp: 1 once slow start has ended */
	__u32 moving;  /* warp: 1 while a subflow moves shares between subflows (warp_begin) */
	__u32 unacked_since_cut; /* warp: bit s: s sends, no acknowledgement since the cut */
	__u32 rounds_since_trial; /* warp: rounds of the first sender since a trial or activation */
	__u64 newest_ack; /* warp: us: time of the newest acknowledgement of any subflow */
	__u32 tried;	  /* warp: subflow on trial plus 1; 0: no trial */
	__u32 last_tried; /* warp: subflow of the last trial */
	__u32 rival;	  /* warp: subflow with the most marks when the trial began */
	__u32 trial_rounds; /* warp: rounds of the subflow on trial */
	__u32 trial_rounds_of_first; /* warp: rounds of the first sender during the trial */
	__u32 trial_acked;
	__u32 trial_marked;
	__u32 packets_since_trial; /* warp: sum of floor(W) over rounds_since_trial */
	__u64 own_marks; /* warp: byte s: marks until s no longer grows on its own */
	__u64 marked_rounds; /* warp: byte s: rounds in a row of s with half of the packets marked */
	__u32 crowded; /* warp: bit s: s was deactivated because its path is crowded */
	__u32 reserved;
};

/* Kinds of events that the programs send to the daemon. */
enum weft_event_kind {
	WEFT_SUPPRESS = 1, /* this subflow must carry no new data */
	WEFT_RELEASE = 2,  /* this subflow may carry new data again */
	WEFT_JOINED = 3,   /* this subflow joined an MPTCP connection */
	WEFT_LEFT = 4,	   /* this subflow closed */
	WEFT_BULK = 5,	   /* first subflow with `bulk` bytes; once per connection */
	WEFT_NO_ECN = 6,	   /* the peer has no ECN: this subflow runs Reno */
	WEFT_NO_SLOT = 7,  /* no map entry or slot: this subflow runs Reno */
	WEFT_DEACTIVATE = 8,	   /* this subflow alone must carry no new data */
	WEFT_ACTIVATE = 9,	   /* this subflow alone may carry new data again */
	WEFT_FAILED = 10,  /* this subflow timed out while another one progressed (weft_record_timeout) */
};

struct weft_event {
	__u64 time; /* ns, CLOCK_MONOTONIC: time of the decision */
	__u32 kind;
	__u32 token;
	__u32 algorithm;
	__u32 slot;   /* number of the subflow */
	__u32 active; /* weft_window.active at that time, also for WEFT_JOINED */
	__u16 family;
	__u16 local_port;
	__u16 remote_port;
	__u16 reserved;
	__u32 reserved2;
	__u8 local[16];
	__u8 remote[16];
};

/* Maximum number of rules. */
#define WEFT_RULES 32

/* A rule that assigns an algorithm to sockets. The first rule that matches decides. */
struct weft_rule {
	__u64 cgroup;	   /* id of a cgroup that contains the socket; 0: any */
	__u32 network[4];  /* IPv6 in network byte order; IPv4 is mapped */
	__u32 bits;	   /* length of the prefix of `network` */
	__u32 destination; /* 1: only sockets that connect to `network` */
	__u32 first_port;  /* remote port, or the port of a listening socket */
	__u32 last_port;
	char algorithm[16]; /* empty: the end of the list of rules */
};

/* A slot whose socket no longer exists, as found by user space. */
struct weft_lost {
	__u64 key; /* key in the map of connections */
	__u32 slot;
	__u32 owner;
};

/* Counters over all connections, most of them of exceptions. */
struct weft_totals {
	__u64 connections;  /* opened since the program was loaded */
	__u64 subflows;	    /* opened since the program was loaded */
	__u64 without_ecn;  /* fell back to Reno: the peer has no ECN */
	__u64 without_slot; /* fell back to Reno: no map entry or slot was free */
	__u64 lost_events;  /* full ring, or over max_events_per_user */
};

static inline void weft_limit(struct weft_window *w)
{
	if (w->cwnd > WEFT_CWND_MAX)
		w->cwnd = WEFT_CWND_MAX;
}

/**
 * weft_avoidance_of() - Slow start (RFC 5681, section 3.1), as in reno.rs of weft-cc
 * @cwnd: window, which grows up to @ssthresh
 * @ssthresh: slow start threshold
 * @acked: packets acknowledged
 *
 * Return: the part of @acked, in 2^-24 packets, that is left for congestion avoidance; at most one
 * window.
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
			/* ssthresh may have a fraction; only whole packets beyond it are left. */
			left = (grown - ssthresh) & ~(WEFT_PACKET - 1);
		*cwnd = grown - left;
	}
	return left < *cwnd ? left : *cwnd;
}

static inline __u64 weft_avoidance(struct weft_window *w, __u32 acked)
{
	return weft_avoidance_of(&w->cwnd, w->ssthresh, acked);
}

/* RFC 5681, equation (3): one packet per round. */
static inline void weft_grow(struct weft_window *w, __u32 acked)
{
	__u64 left = weft_avoidance(w, acked);

	w->cwnd += ((left << WEFT_PACKET_BITS) + w->cwnd / 2) / w->cwnd;
}

/* Reduces the window by 1 / beta, to no less than cwnd_min. */
static inline void weft_cut(struct weft_window *w, const volatile struct weft_parameters *p)
{
	if (p->beta)
		w->cwnd -= (w->cwnd << 20) / p->beta;
	if (w->cwnd < p->cwnd_min)
		w->cwnd = p->cwnd_min;
	w->ssthresh = w->cwnd;
}

/* RFC 5681, equation (4) and section 3.2, step 2, with a floor in 2^-24 packets. */
static inline void weft_halve_to(struct weft_window *w, __u64 floor)
{
	w->ssthresh = w->cwnd / 2 > floor ? w->cwnd / 2 : floor;
	w->cwnd = w->ssthresh;
}

/* RFC 5681, equation (4) and section 3.2, step 2. */
static inline void weft_halve(struct weft_window *w)
{
	weft_halve_to(w, 2 * WEFT_PACKET);
}

/*
 * The loss window of RFC 5681, section 3.1, and equation (4) with a floor in 2^-24 packets. If the
 * segment has timed out before (@first is 0), or this recovery has already reduced the window, "the
 * value of ssthresh is held constant".
 */
static inline void weft_collapse_to(struct weft_window *w, __u32 first, __u64 floor)
{
	if (first)
		weft_halve_to(w, floor);
	w->cwnd = WEFT_PACKET;
}

/* The loss window with the floor of RFC 5681, equation (4). */
static inline void weft_collapse(struct weft_window *w, __u32 first)
{
	weft_collapse_to(w, first, 2 * WEFT_PACKET);
}

/*
 * Restores the window of subflow s after a spurious loss or timeout, as tcp_reno_undo_cwnd() does:
 * window and threshold become at least what they were before.
 */
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
