// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* BALIA for the kernel; balia.h says what it does. */
#define ALGORITHM balia
#define ALGORITHM_ID WEFT_BALIA
#define ALGORITHM_ECN 0
#define ALGORITHM_ACTIVE 0

#include "balia.h"
#include "congestion_ops.h"
