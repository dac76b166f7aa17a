"""The quick version of each figure, as a user runs it, against its snapshot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.command import weft
from tests.papers import snapshots
from weft.api import registry
from weft.exit_codes import MISSING
from weft_papers import FIGURES
from weft_papers.figure import CLAIM_PARTS, EQUATIONS
from weft_papers.statement import OWN

DETERMINISTIC = {level["name"] for level in registry()["levels"] if level["deterministic"]} | {EQUATIONS}
MEASURED = {figure.name for figure in FIGURES if figure.level not in DETERMINISTIC}
"""Figures that a kernel measures: no two runs are equal, so there is no snapshot."""
CALCULATED = {figure.name for figure in FIGURES if figure.level == EQUATIONS}
GALLERY = Path(__file__).parent.parent.parent / "target" / "gallery"
"""The folder of the plots for the documentation site."""


def side_by_side(name: str) -> pytest.MarkDecorator:
    """Marks a figure: one that a kernel measures needs the machine for itself; others run in parallel."""
    return pytest.mark.kernel if name in MEASURED else pytest.mark.xdist_group(name)


@pytest.fixture(
    scope="module", params=[pytest.param(figure.name, marks=side_by_side(figure.name)) for figure in FIGURES]
)
def figure(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(figure: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    ended = weft("reproduce", figure, "--quick", "--json", "--out", "figure", cwd=folder)
    if ended.code == MISSING:
        pytest.skip(ended.complaint(MISSING))
    assert (ended.code, ended.err) == (0, "")
    (folder / "document.json").write_text(ended.out)
    GALLERY.mkdir(parents=True, exist_ok=True)
    for plot in folder.rglob("*.png"):
        shutil.copy(plot, GALLERY)
    return folder


@pytest.fixture
def document(folder: Path) -> Any:
    return json.loads((folder / "document.json").read_text())


def test_document(figure: str, folder: Path, document: Any) -> None:
    assert document["figure"] == figure
    assert document["scale"].startswith("by equations" if figure in CALCULATED else "quick, 1 seed; ")
    assert document["seeds"] == (figure not in CALCULATED)
    assert len(document["claims"]) > 0
    for claim in document["claims"]:
        assert list(claim) == [*CLAIM_PARTS, "table", *OWN.document(holds=None)]
        assert claim["holds"] in (True, False, None)
        assert claim["table"] is None or all(
            len(row) == len(claim["table"]["columns"]) for row in claim["table"]["rows"]
        )
        assert all(claim[part] for part in ("claim", "paper", "measured", "note"))
    for path in document["tables"]:
        assert len(pl.read_parquet(folder / path)) > 0
    for path in document["plots"]:
        assert (folder / path).stat().st_size > 5000
    assert json.loads((folder / "figure" / "claims.json").read_text())["claims"] == document["claims"]
    assert (folder / document["page"]).exists()


def test_numbers_are_those_of_the_snapshot(figure: str, document: Any) -> None:
    if figure in MEASURED:
        assert not snapshots.path(figure).exists()
        return
    if snapshots.RENEW:
        snapshots.renew(document)
    assert snapshots.differences(document) == []


def test_every_snapshot_has_a_figure() -> None:
    assert set(snapshots.FOLDER.iterdir()) == {
        snapshots.path(figure.name) for figure in FIGURES if figure.name not in MEASURED
    }
