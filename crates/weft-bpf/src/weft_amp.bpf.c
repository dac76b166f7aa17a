// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* AMP for the kernel; amp.h says what it does. */
#define ALGORITHM amp
#define ALGORITHM_ID WEFT_AMP
#define ALGORITHM_ECN 1
#define ALGORITHM_ACTIVE 1

#include "amp.h"
#include "congestion_ops.h"
