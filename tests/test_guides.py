"""Tutorial and how-to pages do what they say, block by block."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
import pytest

import weft
from tests.guides import FENCE, Guide
from tests.papers.snapshots import RENEW
from weft.sweeps.cases import run_cases
from weft_papers import FIGURES, demo_permutation

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAPERS = ("amp", "mptcp-dc", "amp-fg", "opn")
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
    if "Use `permutation.toml` of [the first tutorial]" in page.read_text():
        first = (DOCS / "tutorials" / "first-experiment.md").read_text()
        spec = next(block for block in FENCE.finditer(first) if block["title"] == "permutation.toml")
        (reader / "permutation.toml").write_text(spec["text"])
    variables = {"WEFT": str(ROOT), "CARGO_TARGET_DIR": str(ROOT / "target")}
    assert Guide(page, reader, variables).follow(renew=RENEW) == []


def test_readme(reader: Path) -> None:
    """The blocks of the README do what it says, and the numbers of its text are theirs."""
    readme = ROOT / "README.md"
    assert Guide(readme, reader, {}).follow(renew=RENEW) == []
    text = " ".join(readme.read_text().split())
    flows = pl.read_parquet(reader / "sweep" / "tables" / "flows" / "*.parquet")
    gbps = pl.col("goodput_bps") / 1e9
    runs = flows.group_by("transports.sender.subflows", "seed").agg(mean=gbps.mean(), slowest=gbps.min())
    by_count = {count: rows for (count, *_), rows in runs.partition_by(runs.columns[0], as_dict=True).items()}
    number = r"([\d.]+)"
    stated = re.search(
        rf"median of the mean goodput from {number} to {number} Gbps, "
        rf"and that of the slowest flow from {number} to {number} Gbps",
        text,
    )
    assert stated is not None
    found = [by_count[count].median()[column].item() for column in ("mean", "slowest") for count in (1, 4)]
    assert list(stated.groups()) == [f"{value:.2f}" for value in found]
    own, amp = (
        re.search(r"^\{'amp': .*\}$", readme.read_text(), re.MULTILINE),
        re.search(r"AMP's goodput of ([\d.]+) Gbps, the mean over all seeds", text),
    )
    assert own is not None
    assert amp is not None
    assert amp[1] == f"{by_count[4].mean()['mean'].item():.2f}"
    goodput = json.loads(own[0].replace("'", '"'))
    assert goodput["amp"] == float(amp[1])
    assert goodput["Gentle"] > 1.02 * goodput["amp"]
    assert min(goodput["dctcp"], goodput["warp"]) > goodput["Gentle"], "README says that they are ahead"
    claims = json.loads((reader / "weft-amp-fig06" / "claims.json").read_text())
    assert "verdict for each of seven statements. Five hold at full size. In the quick version, whose one seed" in text
    assert [claim["holds"] for claim in found_claims(claims)] == [True] * 7
    full = found_claims(json.loads((DOCS / "claims" / "amp-fig06.json").read_text())["claims"])
    assert sorted(claim["holds"] for claim in full) == [False] * 2 + [True] * 5
    figures = len([figure for figure in FIGURES if figure.paper in PAPERS])
    assert f"lists those {figures} figures and {len(FIGURES) - figures} other studies" in text


def found_claims(document: Any) -> list[dict[str, Any]]:
    """The judged claims of a document of `weft reproduce`, wherever they are in it."""
    if isinstance(document, dict):
        if "holds" in document and "claim" in document:
            return [document] if document["holds"] is not None else []
        return [claim for value in document.values() for claim in found_claims(value)]
    return [claim for value in document for claim in found_claims(value)] if isinstance(document, list) else []


def test_the_first_picture_of_the_readme() -> None:
    """The ratio in its alternative text is that of the demo, and the times are those of `peers.csv`."""
    text = (ROOT / "README.md").read_text()
    cases = [
        case
        for case in demo_permutation.cases(("dctcp", "amp", "xmp", "dcm"))
        if case.labels["links"] == demo_permutation.FAILED
    ]
    rows = run_cases(cases, demo_permutation.measure)
    slowest = dict(rows.group_by("algorithm").agg(pl.col("gbps").min()).iter_rows())
    one = slowest.pop("dctcp")
    ratios = sorted(value / one for value in slowest.values())
    assert f"{ratios[0]:.1f} to {ratios[-1]:.1f} times as fast" in text
    with (DOCS / "validation" / "peers.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            stated = f"{row['peer']} {float(row['peer_cpu_s']):.3g}, Weft {float(row['weft_cpu_s']):.3g}"
            assert stated in text
            page = (DOCS / "validation" / "performance.md").read_text()
            ratio = f"{row['least_ratio']} to {row['largest_ratio']}"
            assert (
                f"| {row['peer']} | {row['work']} | {row['weft_cpu_s']} s | {row['peer_cpu_s']} s | {ratio} |" in page
            )


def test_the_incasts_of_the_readme() -> None:
    """One path is faster than four subflows of each algorithm in the picture, but not AMP with AMP's first window."""

    def mean_fct_s(cc: str, subflows: int, profile: str = "linux") -> float:
        sender = f"transports.sender={{cc='{cc}', subflows={subflows}, profile='{profile}'}}"
        overrides = [sender, "traffic[0].flows=30"]
        return float(
            weft.run(weft.load(ROOT / "examples" / "incast-amp.toml", overrides)).flows["fct_s"].to_numpy().mean()
        )

    one = mean_fct_s("dctcp", 1)
    assert all(mean_fct_s(cc, 4) > 1.5 * one for cc in ("amp", "xmp", "dcm"))
    one = mean_fct_s("dctcp", 1, "amp-2019")
    assert mean_fct_s("amp", 4, "amp-2019") < 1.2 * one
    assert all(mean_fct_s(cc, 4, "amp-2019") > 10 * one for cc in ("xmp", "dcm"))


def test_the_counts_of_claims_in_the_readme() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    stated = re.search(
        r"\[(\d+) statements\]\(docs/validation/figures.md\) about (\d+) figures, of which (\d+) hold\. "
        r"Of those that fail, (\d+) are Weft's own; (\d+) of the papers' have a known cause, .*?, "
        r"and for (\d+) it is open",
        readme,
    )
    assert stated is not None
    page = (DOCS / "validation" / "figures.md").read_text()
    row = r"^\| `[a-z-]+` \| (?:paper|paper on Linux|weft) \| (\d+) \| (\d+) \| (.*?) \| \d+ \|$"
    judged, hold, known, unknown = 0, 0, 0, 0
    for of_row in re.findall(row, page, re.MULTILINE):
        causes = [int(number) for number in re.findall(r"\d+", of_row[2])] or [0]
        judged, hold = judged + int(of_row[0]), hold + int(of_row[1])
        known, unknown = known + sum(causes[:-1]), unknown + causes[-1]
    figures = len([figure for figure in FIGURES if figure.paper in PAPERS])
    own = judged - hold - known - unknown
    assert list(map(int, stated.groups())) == [judged, figures, hold, own, known, unknown]
    conclusions = [
        row.split(" | ")[4] for row in re.findall(r"^\| `[a-z-]+` \| .*$", page, re.MULTILINE) if row.count("|") == 8
    ]
    quick = conclusions.count("indicative: reproduced")
    reproduced, partly = (sum(verdict.endswith(word) for verdict in conclusions) for word in ("reproduced", "partly"))
    of_them = f" ({quick} of them in quick versions only)" if quick else ""
    sentence = f"Weft reproduces {reproduced}{of_them}, and {partly} in part."
    assert f"Of {len(conclusions)} conclusions of four papers, {sentence}" in readme


def test_the_speeds_in_the_readme() -> None:
    """They are the slowest and the fastest packet-level scenario, and the ratios of two pages."""
    readme = (ROOT / "README.md").read_text()
    page = (DOCS / "validation" / "performance.md").read_text()
    speeds = [float(speed) for speed in re.findall(r"^\| `[a-z0-9-]+`.*? \| ([\d.]+)", page, re.MULTILINE)[:4]]
    assert f"carries {min(speeds):.0f} to {max(speeds):.0f} million packets over a link per second" in readme
    with (DOCS / "validation" / "peers.csv").open(encoding="utf-8") as file:
        ratios = {row["peer"]: (row["least_ratio"], row["largest_ratio"]) for row in csv.DictReader(file)}
    most = re.search(r"it takes ([\d.]+) times as long, in one round", page)
    assert most is not None
    least_of_htsim = f"{float(ratios['htsim'][0]):.0f} to {float(most[1]):.0f}"
    times = re.findall(r"^\| 1,024 \| (?:un)?equal \|.*?\|.*?\| ([\d.]+) to ([\d.]+) \|", page, re.MULTILINE)
    of_simgrid = f"{float(times[0][0]):.0f} to {float(times[-1][1]):.0f} (solving rates)"
    assert f"| 1 | {' to '.join(ratios['ns-3'])} | {least_of_htsim} | {of_simgrid} |" in readme


def test_differing_output_of_a_guide_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```bash\necho 10\n```\n\n```text\n11\n```\n\n```python\nprint(5)\n```\n\n```text\n5\n```\n")
    (line,) = Guide(page, tmp_path, {}).follow()
    assert "says '11\\n', but it is '10\\n'" in line


def test_every_block_is_closed_and_known() -> None:
    known = {"bash", "console", "math", "python", "rust", "sh", "text", "toml", ""}
    for page in (ROOT / "docs").rglob("*.md"):
        fences = [line[3:].partition(" ")[0] for line in page.read_text().splitlines() if line.startswith("```")]
        assert len(fences) % 2 == 0, page
        assert set(fences) <= known, page
    assert any(block["language"] == "text" for block in FENCE.finditer(PAGES[0].read_text()))
