"""Old names still work and warn, until 0.3."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tests.command import weft as command
from weft import __all__ as exported
from weft import errors, stats, sweep
from weft.papers.paper import find_figures


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
    assert "statistics" not in exported


def test_sweep() -> None:
    with pytest.warns(DeprecationWarning, match="now run_cases"):
        assert sweep.sweep is sweep.run_cases


def test_batch(spec: Path) -> None:
    done = command("tune", str(spec), "--over", "duration=1ms:9ms", "--batch", "4", cwd=spec.parent)
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "weft: warning: --batch is now --batch-size; the old name goes in 0.3",
    )


def test_figure(tmp_path: Path) -> None:
    assert [figure.name for figure in find_figures("beyond/everything")] == ["beyond/all-schemes"]
    done = command("reproduce", "beyond/everything", "--out", "/proc/no", cwd=tmp_path)
    assert "beyond/everything is now beyond/all-schemes" in done.err
