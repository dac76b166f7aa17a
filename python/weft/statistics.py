"""The old name of `weft.stats`, with a warning; it is removed in 0.3."""

from __future__ import annotations

import warnings

from weft import stats
from weft.stats import *  # noqa: F403 - all names that are still the same

warnings.warn("weft.statistics is now weft.stats", DeprecationWarning, stacklevel=2)

interval = stats.mean_ci
reached = stats.time_to_floor
student = stats.t_quantile
