// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* wVegas for the kernel; wvegas.h says what it does. */
#define ALGORITHM wvegas
#define ALGORITHM_ID WEFT_WVEGAS
#define ALGORITHM_ECN 0
#define ALGORITHM_ACTIVE 0
#define ALGORITHM_DELAYS 1

#include "wvegas.h"
#include "congestion_ops.h"
