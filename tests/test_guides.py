"""Tutorial and how-to pages do what they say, block by block."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import matplotlib as mpl
import polars as pl
import pytest

import weft
from tests.guides import FENCE, Guide
from tests.papers.snapshots import RENEW

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *sorted((DOCS / "tutorials").glob("*.md")),
    DOCS / "validation" / "findings.md",
    *sorted((DOCS / "how-to").glob("*.md")),
]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which Python works too, and on whose path is `weft`."""
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path, reader: Path) -> None:
    for program in ("cargo", "tshark"):
        if program in page.read_text() and shutil.which(program) is None:
            pytest.skip(f"no {program} on PATH")
    if "import networkx" in page.read_text():
        pytest.importorskip("networkx")
    # The crate outside the tree finds what tests in the tree have compiled of its dependencies.
    variables = {"WEFT": str(ROOT), "CARGO_TARGET_DIR": str(ROOT / "target")}
    assert Guide(page, reader, variables).follow(renew=RENEW) == []


def test_readme(reader: Path) -> None:
    """The blocks of the README do what it says, and its numbers show the effect that it states."""
    readme = ROOT / "README.md"
    assert Guide(readme, reader, {}).follow() == []
    assert {"first", "sweep", "report.html", "tuned", "weft-amp-fig08"} <= {path.name for path in reader.iterdir()}
    text = readme.read_text()
    stated = re.search(r"more than (\d+) times as long in the mean", text)
    assert stated is not None
    factor = int(stated[1])
    flows = pl.read_parquet(reader / "sweep" / "tables" / "flows" / "*.parquet")
    mean = dict(flows.group_by("cc").agg(pl.col("fct_s").mean()).iter_rows())
    assert min(mean["xmp"], mean["dcm"]) > factor * mean["amp"]
    timeouts = dict(flows.group_by("cc").agg(pl.col("timeouts").mean()).iter_rows())
    for title, values, scale in (("mean FCT (ms)", mean, 1e3), ("timeouts per flow", timeouts, 1)):
        digits = {cc: format(scale * value, "#.3g").rstrip(".") if value else "0" for cc, value in values.items()}
        shown = " | ".join(digits[cc] for cc in ("amp", "xmp", "dcm"))
        assert f"| {title} | {shown} |" in text
    tuned = pl.read_parquet(reader / "tuned" / "trials.parquet")
    assert tuned.filter(pl.col("gamma") >= 4)["objective"].min() > 10 * tuned["objective"].min()  # type: ignore[operator]
    amp = flows.filter(pl.col("cc") == "amp").group_by("seed").agg(pl.col("suppressions").sum())
    assert min(amp["suppressions"].to_list()) >= 1
    assert flows["fct_s"].null_count() == 0


def test_what_differs_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```bash\necho 10\n```\n\n```text\n11\n```\n\n```python\nprint(5)\n```\n\n```text\n5\n```\n")
    (line,) = Guide(page, tmp_path, {}).follow()
    assert "says '11\\n', but it is '10\\n'" in line


def test_every_block_is_closed_and_known() -> None:
    known = {"bash", "console", "python", "rust", "sh", "text", "toml", ""}
    for page in (ROOT / "docs").rglob("*.md"):
        fences = [line[3:].partition(" ")[0] for line in page.read_text().splitlines() if line.startswith("```")]
        assert len(fences) % 2 == 0, page
        assert set(fences) <= known, page
    assert any(block["language"] == "text" for block in FENCE.finditer(PAGES[0].read_text()))


def test_readme_says_where_its_effect_ends(reader: Path) -> None:
    """One path is as fast, other numbers of subflows and flows have timeouts, and so does DCTCP over four subflows."""
    text = (ROOT / "README.md").read_text()
    block = re.search(r'```toml title="incast.toml"\n(.*?)```', text, re.DOTALL)
    stated = re.search(r"`subflows = 1`\) takes ([\d.]+) ms", text)
    assert block is not None
    assert stated is not None
    spec = reader / "incast.toml"
    spec.write_text(block[1])

    def run(*overrides: str) -> weft.Result:
        return weft.run(weft.load(spec, overrides))

    def timeouts(*overrides: str) -> int:
        return int(run(*overrides).subflows["timeouts"].sum())

    def mean_fct_s(*overrides: str) -> float:
        return float(run(*overrides).flows["fct_s"].to_numpy().mean())

    multipath = "transports.multipath."
    one_path = mean_fct_s(f"{multipath}cc=dctcp", f"{multipath}subflows=1")
    assert f"{1e3 * one_path:.3g}" == stated[1]
    assert timeouts() == 0
    assert timeouts(f"{multipath}subflows=6") > 0
    assert timeouts("topology.senders=40", "traffic[0].flows=40") > 0
    assert timeouts(f"{multipath}cc=dctcp") > 0
    linux = f"{multipath}profile=linux"
    assert run(linux).suppressions.height == 0
    assert mean_fct_s(linux, f"{multipath}cc=dcm") < mean_fct_s(linux)
