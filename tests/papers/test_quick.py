"""The quick version of each figure, and the demo, as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from tests.command import weft
from weft.papers import FIGURES

HOLDS = {
    "amp/fig02": [
        "k = 30: the mean FCT of DCTCP is about 2 ms",
        "In many cases the mean FCT of DCTCP is 1 to 2 orders of magnitude shorter than that of DCM and XMP",
        "Retransmission timeouts are what makes some flows of DCM and XMP much slower",
    ],
    "amp/fig04": [
        "(a) The syndrome begins as soon as XMP uses three subflows or more",
        "(b) A larger marking threshold alleviates the problem marginally",
    ],
    "amp/fig08": [
        "AMP is as good as DCTCP up to 30 flows",
        "In most cases the mean FCT of AMP is 1 to 2 orders shorter than that of XMP and DCM",
        "128 KB, k = 30: the mean FCT of AMP is about 2 ms",
        "128 KB, k = 30: AMP has no timeout",
        "128 KB, k = 30: timeouts set XMP and DCM apart from AMP",
        "64 KB: all multipath schemes work as well as DCTCP, with little difference among them",
    ],
}
"""Claims of the papers that Weft bears out. A change that loses one has to say why."""


@pytest.fixture(scope="module", params=[figure.name for figure in FIGURES])
def figure(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(figure: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures")
    ended = weft("reproduce", figure, "--quick", "--json", "--out", "figure", cwd=place)
    assert (ended.code, ended.err) == (0, "")
    (place / "document.json").write_text(ended.out)
    return place


def test_document(figure: str, folder: Path) -> None:
    document = json.loads((folder / "document.json").read_text())
    assert document["figure"] == figure
    assert document["scale"].startswith("quick, 1 seed; ")
    for claim in document["claims"]:
        assert list(claim) == ["claim", "paper", "measured", "holds", "note"]
        assert isinstance(claim["holds"], bool)
        assert all(claim[part] for part in ("claim", "paper", "measured", "note"))
    for path in document["tables"]:
        assert len(pl.read_parquet(folder / path)) > 0
    for path in document["plots"]:
        assert (folder / path).stat().st_size > 5000
    assert json.loads((folder / "figure" / "claims.json").read_text())["claims"] == document["claims"]


def test_claims_that_hold(figure: str, folder: Path) -> None:
    claims = json.loads((folder / "document.json").read_text())["claims"]
    held = {claim["claim"] for claim in claims if claim["holds"]}
    assert set(HOLDS[figure]) - held == set()


def test_demo(tmp_path: Path) -> None:
    ended = weft("demo", "--out", "demo", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "flows.parquet",
        "incast.png",
        "index.html",
        "summary.parquet",
    }
    summary = pl.read_parquet(tmp_path / "demo" / "summary.parquet")
    assert len(summary) == 4 * 4
    page = (tmp_path / "demo" / "index.html").read_text()
    assert page.count("<tr>") == 1 + len(summary)
    # A browser opens it offline: nothing is fetched but what stands in the page.
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []
    for name in ("AMP", "XMP", "DCM", "DCTCP"):
        assert name in ended.out
        assert f"<td>{name}</td>" in page
