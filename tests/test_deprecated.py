"""Old names still work and warn, until 0.3."""

from __future__ import annotations

import importlib
import sys

import pytest

import weft
from weft import errors, stats, sweep


def test_missing_error() -> None:
    with pytest.warns(DeprecationWarning, match="now RequirementError"):
        assert errors.MissingError is errors.RequirementError
    with pytest.raises(AttributeError):
        _ = errors.NoSuchError


def test_statistics() -> None:
    sys.modules.pop("weft.statistics", None)
    with pytest.warns(DeprecationWarning, match="now weft.stats"):
        old = importlib.import_module("weft.statistics")
    assert (old.jain, old.interval, old.student) == (stats.jain, stats.mean_ci, stats.t_quantile)
    assert "statistics" not in weft.__all__


def test_sweep() -> None:
    with pytest.warns(DeprecationWarning, match="now run_cases"):
        assert sweep.sweep is sweep.run_cases
