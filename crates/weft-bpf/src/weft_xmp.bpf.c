// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/* XMP for the kernel; xmp.h says what it does. */
#define ALGORITHM xmp
#define ALGORITHM_ID WEFT_XMP
#define ALGORITHM_ECN 1
#define ALGORITHM_ACTIVE 0

#include "xmp.h"
#include "congestion_ops.h"
