"""Traces that ASTRA-sim publishes, in the network of the how-to page and against closed forms.

They are not in this repository. `WEFT_CHAKRA_TRACES` names a folder that has them anywhere below it, such as a clone of
ASTRA-sim.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.collectives.test_closed_forms import START, message
from tests.collectives.test_ranks import run, spec
from tests.guides import FENCE

FOLDER = os.environ.get("WEFT_CHAKRA_TRACES")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "training-step.md"
ROW = re.compile(r"^\| `(\w+)` \| ([\d.]+) us \| (\d+) x \(1 \+ 10\.49\)(?: \+ 7 x 7)? = ([\d.]+) us \|$", re.MULTILINE)
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = ROW.findall(TEXT)
COMPUTING = {"custom_allreduce": 49e-6}
"""Computing of a rank: seven reductions of 7 us."""
needs_traces = pytest.mark.skipif(FOLDER is None, reason="WEFT_CHAKRA_TRACES names no folder with traces of ASTRA-sim")


def trace(name: str) -> dict[str, Any]:
    """Traffic that runs a trace of 8 ranks and 1 MiB."""
    found = [file for file in Path(FOLDER or "").rglob(f"{name}.0.et") if "8npus_1MB" in str(file.parent)]
    assert found, f"no {name} of 8 ranks below {FOLDER}"
    prefix = str(found[0]).removesuffix(".0.et")
    return {"kind": "trace", "format": "chakra", "file": prefix, "transport": "sender", "send_done": "started"}


def test_the_page_has_the_sums() -> None:
    assert len(ROWS) == 4
    for name, _, messages, total in ROWS:
        by_hand = int(messages) * (1e-6 + 131_072 * 8 / 100e9) + COMPUTING.get(name, 0)
        assert total == f"{by_hand * 1e6:.1f}"


@needs_traces
@pytest.mark.parametrize(("name", "stated"), [row[:2] for row in ROWS])
def test_traces_take_the_times_of_the_page(name: str, stated: str) -> None:
    block = next(block for block in FENCE.finditer(TEXT) if block["title"] == "step.toml")
    described = tomllib.loads(block["text"]) | {"traffic": [trace(name)]}
    (job,) = run(described).jobs.iter_rows(named=True)
    assert f"{job['jct_s'] * 1e6:.1f}" == stated


@needs_traces
@pytest.mark.parametrize(("name", "messages"), [(row[0], int(row[2])) for row in ROWS])
def test_traces_take_the_time_of_their_closed_form(name: str, messages: int) -> None:
    """At one switch, without headers: each message waits for the one before."""
    transport = {"cc": "dctcp", "tcp": {"header": "0B", "mss": "1B"}}
    traffic = trace(name) | {"connections": "persistent", "start": f"{START}s"}
    result: weft.Result = run(spec(8, traffic, transport=transport, level="flow"), threads=1)
    expected = messages * message(131_072) + COMPUTING.get(name, 0)
    assert result.jobs["finish_s"].item() - START == pytest.approx(expected, rel=1e-4)
