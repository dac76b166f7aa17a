/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/* One function that dispatches events to the algorithms of the BPF programs. */
#include <string.h>

#include "amp.h"
#include "amp_fg.h"
#include "balia.h"
#include "dcm.h"
#include "dctcp.h"
#include "lia.h"
#include "olia.h"
#include "warp.h"
#include "wvegas.h"
#include "xmp.h"

/* The events of weft-cc, with the numbers of lib.rs. */
enum native_event { OPEN, ACK, MARK, ROUND, FAST_RETRANSMIT, TIMEOUT, CLOSE, DELIVERED, UNDO };

#define ALGORITHM(name)                                                                                            \
	static void name##_event(struct weft_connection *c, const struct weft_parameters *p, __u32 event, __u32 s, \
				 __u32 acked, __u32 marked)                                                   \
	{                                                                                                     \
		switch (event) {                                                                              \
		case OPEN:                                                                                    \
			name##_on_open(c, p, s);                                                              \
			break;                                                                                \
		case ACK:                                                                                     \
			name##_on_ack(c, p, s, acked, marked);                                                \
			break;                                                                                \
		case MARK:                                                                                    \
			name##_on_mark(c, p, s);                                                              \
			break;                                                                                \
		case ROUND:                                                                                   \
			name##_on_round(c, p, s, acked, marked);                                              \
			break;                                                                                \
		case FAST_RETRANSMIT:                                                                         \
			name##_on_fast_retransmit(c, p, s);                                                   \
			break;                                                                                \
		case TIMEOUT:                                                                                 \
			name##_on_timeout(c, p, s, acked);                                                         \
			break;                                                                                \
		case CLOSE:                                                                                   \
			name##_on_close(c, p, s);                                                             \
			break;                                                                                \
		case UNDO:                                                                                    \
			name##_on_undo(c, p, s);                                                              \
			break;                                                                                \
		}                                                                                             \
	}

ALGORITHM(amp)
ALGORITHM(amp_fg)
ALGORITHM(balia)
ALGORITHM(dcm)
ALGORITHM(dctcp)
ALGORITHM(lia)
ALGORITHM(olia)
ALGORITHM(warp)
ALGORITHM(wvegas)
ALGORITHM(xmp)

/* Updates the rows at an event, as the programs do. */
static void rows_event(struct amp_fg_rows *rows, struct weft_window *w, const struct weft_parameters *p, __u32 event,
		       __u32 acked, __u32 marked)
{
	switch (event) {
	case OPEN:
		memset(rows, 0, sizeof(*rows));
		break;
	case DELIVERED:
		amp_fg_rows_ack(rows, w, p, acked, marked);
		break;
	case ROUND:
		amp_fg_rows_round(rows, w);
		break;
	}
}

/* Returns 1 if a mark on subflow s reduces windows. */
__u32 weft_native_reacts_to_mark(__u32 algorithm, const struct weft_connection *c, __u32 s)
{
	return algorithm != WEFT_WARP || warp_reacts_to_mark(c, s);
}

/*
 * Handles an event of subflow s, and then limits its window as the kernel's operations do. @rows
 * has the rows of all subflows if the algorithm is AMP-FG.
 */
void weft_native_event(__u32 algorithm, struct weft_connection *c, struct amp_fg_rows *rows, const struct weft_parameters *p,
		     __u32 event, __u32 s, __u32 acked, __u32 marked)
{
	switch (algorithm) {
	case WEFT_AMP:
		amp_event(c, p, event, s, acked, marked);
		break;
	case WEFT_AMP_FG:
		rows_event(&rows[s], &c->w[s], p, event, acked, marked);
		amp_fg_event(c, p, event, s, acked, marked);
		break;
	case WEFT_DCM:
		dcm_event(c, p, event, s, acked, marked);
		break;
	case WEFT_DCTCP:
		dctcp_event(c, p, event, s, acked, marked);
		break;
	case WEFT_LIA:
		lia_event(c, p, event, s, acked, marked);
		break;
	case WEFT_BALIA:
		balia_event(c, p, event, s, acked, marked);
		break;
	case WEFT_OLIA:
		olia_event(c, p, event, s, acked, marked);
		break;
	case WEFT_WARP:
		if (event == DELIVERED)
			warp_on_ack_after_cut(c, s);
		warp_event(c, p, event, s, acked, marked);
		break;
	case WEFT_WVEGAS:
		if (event == DELIVERED)
			wvegas_on_sample(c, s, acked);
		wvegas_event(c, p, event, s, acked, marked);
		break;
	case WEFT_XMP:
		xmp_event(c, p, event, s, acked, marked);
		break;
	}
	weft_limit(&c->w[s]);
}
