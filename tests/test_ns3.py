"""Experiments in ns-3, so that the drivers are known to build. `make validate` runs them all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.ns3 import red
from tests.ns3.compare import SCENES, compare

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make") or "make"


needs_ns3 = pytest.mark.skipif(
    not Path("/usr/include/ns3/core-module.h").exists(), reason="libns3-dev is not installed"
)


@needs_ns3
def test_dctcps_queue_is_ns3s() -> None:
    driver = "target/ns3/driver"
    subprocess.run([MAKE, driver], cwd=ROOT, capture_output=True, check=True)
    rows = compare(ROOT / driver, [scene for scene in SCENES if scene.name == "DCTCP, 2 flows, K = 20"])
    assert len(rows) == 6
    assert [row for row in rows if not row.holds] == []


@needs_ns3
def test_red_marks_and_drops_as_ns3s() -> None:
    driver = "target/ns3/red"
    subprocess.run([MAKE, driver], cwd=ROOT, capture_output=True, check=True)
    rows = red.compare(ROOT / driver, [red.SCENES[1], red.SCENES[-1]])
    assert len(rows) == 9
    assert [row for row in rows if not row.holds] == []
