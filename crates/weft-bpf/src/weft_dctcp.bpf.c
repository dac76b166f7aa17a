// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* DCTCP for the kernel; dctcp.h says what it does. */
#define ALGORITHM dctcp
#define ALGORITHM_ID WEFT_DCTCP
#define ALGORITHM_ECN 1
#define ALGORITHM_ACTIVE 0

#include "dctcp.h"
#include "congestion_ops.h"
