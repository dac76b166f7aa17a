/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/*
 * The fields of kernel types that the programs use. CO-RE finds each field by name in the BTF of
 * the running kernel, so the order, size and position of fields in this file do not matter.
 */
#ifndef WEFT_KERNEL_H
#define WEFT_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define AF_INET6 10
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define TCP_NOTSENT_LOWAT 25
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_SYN_SENT 2
/*
 * Modes of ECN in ecn_flags: that of RFC 3168, and Accurate ECN (RFC 9768), which Linux 6.18 does
 * not have yet. Both bits are set until the SYN has been answered.
 */
#define TCP_ECN_MODE_RFC3168 1
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_MODE_ACCECN 16
#define TCP_ECN_MODE_ANY (TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN)
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define TCP_INFINITE_SSTHRESH 0x7fffffff

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

enum tcp_ca_event {
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	__u8 bytes[16];
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	possible_net_t skc_net;
};

typedef struct {
	__u32 val;
} kuid_t;

struct sock {
	struct sock_common __sk_common;
	kuid_t sk_uid;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	void *icsk_ulp_data;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
};

struct tcp_rack {
	__u64 mstamp;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 srtt_us;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 max_packets_out;
	__u32 delivered;
	__u32 delivered_ce;
	__u64 bytes_acked;
	__u64 bytes_received;
	__u64 tcp_mstamp;
	struct tcp_rack rack;
	__u8 ecn_flags;
	__u8 is_cwnd_limited : 1;
	bool is_mptcp;
};

struct mptcp_subflow_context {
	struct sock *conn;
};

struct mptcp_sock {
	__u32 token;
};

struct rate_sample;

struct ack_sample {
	__s32 rtt_us;
};

/*
 * libbpf matches members by name with those of the kernel's struct. Members that are not listed
 * here stay NULL. Linux 7.1 moved one event of cwnd_event, the start of a transmission, to a member
 * of its own; the events that are used here still come by cwnd_event.
 */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
};

#pragma clang attribute pop

#endif
