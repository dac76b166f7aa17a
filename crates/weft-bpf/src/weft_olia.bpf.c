// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* OLIA for the kernel; olia.h says what it does. */
#define ALGORITHM olia
#define ALGORITHM_ID WEFT_OLIA
#define ALGORITHM_ECN 0
#define ALGORITHM_ACTIVE 0

#include "olia.h"
#include "congestion_ops.h"
