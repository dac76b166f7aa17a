"""`weft.Sweep` opens what `weft sweep` has left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import weft
from tests.command import INCAST
from tests.command import weft as command
from weft.errors import UsageError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "incast.toml").write_text(INCAST)
    over = ["--over", "transports.dctcp.cc=dctcp,amp", "--over", "traffic[0].flows=2,4"]
    done = command("sweep", "incast.toml", *over, "--seeds", "2", "--out", "sweep", "--workers", "1", cwd=folder)
    assert done.code == 0, done
    return folder / "sweep"


def test_tables_have_labels_and_slowdown(folder: Path) -> None:
    sweep = weft.Sweep(folder)
    assert sweep.axes == {"cc": ["dctcp", "amp"], "flows": [2, 4]}
    assert (sweep.name, sweep.seeds) == ("incast", 2)
    assert repr(sweep) == "<Sweep 'incast', 8 runs; values of cc: 2, flows: 2; 2 seeds>"
    flows = sweep.flows
    assert flows.columns[:4] == ["cc", "flows", "seed", "run"]
    assert flows.height == 2 * 2 * (2 + 4)
    assert flows["slowdown"].to_list() == pytest.approx((flows["fct_s"] / flows["ideal_s"]).to_list())
    assert sweep.scan("links").select(pl.len()).collect().item() == sweep.links.height
    by_size = weft.stats.by_size(flows.rename({"flows": "senders"}), [50], by=("cc", "senders", "seed"))
    assert by_size.height == 8
    with pytest.raises(ValueError, match="by: 'flows'; allowed: names other than below_bytes, size, flows"):
        weft.stats.by_size(flows, by=("cc", "flows"))


def test_each_run_is_at_hand(folder: Path) -> None:
    sweep = weft.Sweep(folder)
    results = list(sweep.results())
    assert [labels for labels, _ in results][:3] == [
        {"cc": "dctcp", "flows": 2, "seed": 1},
        {"cc": "dctcp", "flows": 2, "seed": 2},
        {"cc": "dctcp", "flows": 4, "seed": 1},
    ]
    for labels, result in results:
        own = sweep.flows.filter(**labels).drop("cc", "flows", "seed", "run")
        assert result.flows.sort("flow").equals(own.sort("flow"))


def test_other_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not the folder of a sweep: no sweep\.json"):
        weft.Sweep(tmp_path)
    (tmp_path / "sweep.json").write_text(json.dumps({"name": 3}))
    with pytest.raises(UsageError, match="not written by weft"):
        weft.Sweep(tmp_path)
    shutil.copy(folder / "sweep.json", tmp_path / "sweep.json")
    with pytest.raises(UsageError, match="run the same command again"):
        weft.Sweep(tmp_path)
    with pytest.raises(UsageError, match=r"flaws: no such table .* allowed: flows, subflows"):
        weft.Sweep(folder).table("flaws")


@pytest.mark.parametrize("key", ["../../elsewhere", "", "/etc", "0123456789abcdeg"])
def test_a_key_that_is_a_path_is_refused(folder: Path, tmp_path: Path, key: str) -> None:
    document = json.loads((folder / "sweep.json").read_text())
    document["runs"][0]["run"] = key
    (tmp_path / "sweep.json").write_text(json.dumps(document))
    (tmp_path / "tables").mkdir()
    with pytest.raises(UsageError, match=r"sweep\.json: not written by weft; pass a folder that `weft sweep` wrote"):
        weft.Sweep(tmp_path)
