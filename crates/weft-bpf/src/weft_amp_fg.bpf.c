// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* AMP-FG for the kernel; amp_fg.h says what it does. */
#define ALGORITHM amp_fg
#define ALGORITHM_ID WEFT_AMP_FG
#define ALGORITHM_ECN 1
#define ALGORITHM_ACTIVE 0
#define ALGORITHM_ROWS 1

#include "amp_fg.h"
#include "congestion_ops.h"
