// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* DCM for the kernel; dcm.h says what it does. */
#define ALGORITHM dcm
#define ALGORITHM_ID WEFT_DCM
#define ALGORITHM_ECN 1
#define ALGORITHM_ACTIVE 0

#include "dcm.h"
#include "congestion_ops.h"
