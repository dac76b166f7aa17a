// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* Warp for the kernel; warp.h says what it does. */
#define ALGORITHM warp
#define ALGORITHM_ID WEFT_WARP
#define ALGORITHM_ECN 1
#define ALGORITHM_ACTIVE 0
#define ALGORITHM_SHARES 1

#include "warp.h"
#include "congestion_ops.h"
