// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* LIA for the kernel; lia.h says what it does. */
#define ALGORITHM lia
#define ALGORITHM_ID WEFT_LIA
#define ALGORITHM_ECN 0
#define ALGORITHM_ACTIVE 0

#include "lia.h"
#include "congestion_ops.h"
