"""`weft.sweep` is the one way to run many: grids, settings of several fields, own algorithms, precision."""

from __future__ import annotations

import doctest
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import weft
from tests.command import INCAST
from tests.command import weft as command
from weft import measures, stats
from weft.errors import NotAFolderError, ResultWarning, SpecError, UsageError
from weft.sweeps import sweep as sweep_module
from weft.sweeps.axes import Axis

SPEC: dict[str, Any] = tomllib.loads(INCAST)


class Halving(weft.CongestionControl):
    """Reno without ECN."""

    echo = "off"


class Thirds(weft.CongestionControl):
    """Cuts by two thirds at a loss."""

    echo = "off"

    def on_loss(self, w, s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        w[s].cwnd = w[s].ssthresh = max(w[s].cwnd / 3, 2.0)


@pytest.fixture(scope="module")
def sweep() -> weft.Sweep:
    """Two algorithms, two numbers of flows, five seeds of random times."""
    over = {"transports.dctcp.cc": ["dctcp", "reno"], "traffic[0].flows": np.array([2, 4])}
    return weft.sweep(SPEC, over=over, seeds=5, workers=1)


def test_documentation() -> None:
    assert doctest.testmod(sweep_module, extraglobs={"weft": weft}).failed == 0
    assert doctest.testmod(measures).failed == 0


def test_the_command_and_the_function_are_one(spec: Path) -> None:
    over = ["--over", "transports.dctcp.cc=dctcp,reno", "--over", "traffic[0].flows=2,4"]
    done = command("sweep", spec.name, *over, "--seeds", "2", "--out", "a", "--workers", "1", cwd=spec.parent)
    assert done.code == 0, done
    axes = {"transports.dctcp.cc": ["dctcp", "reno"], "traffic[0].flows": [2, 4]}
    found = weft.sweep(spec, over=axes, seeds=2, workers=1, out=spec.parent / "b")
    by_command = weft.Sweep(spec.parent / "a")
    assert found.flows.equals(by_command.flows)
    assert found.axes == by_command.axes == {"cc": ["dctcp", "reno"], "flows": [2, 4]}
    # An equal call reuses the runs, and so does the command in its folder.
    again = command("sweep", spec.name, *over, "--seeds", "2", "--out", "b", cwd=spec.parent)
    assert again.out.startswith("8 runs, 8 of them reused\n")


def test_values_and_summary_are_those_of_the_tables(sweep: weft.Sweep) -> None:
    values = sweep.values("mean fct")
    assert values.columns == ["cc", "flows", "seed", "value", "at_least"]
    own = sweep.flows.group_by("cc", "flows", "seed").agg(pl.col("fct_s").mean())
    joined = values.join(own, on=["cc", "flows", "seed"])
    assert joined.height == values.height == 20
    assert joined["value"].to_list() == pytest.approx(joined["fct_s"].to_list())
    summary = sweep.summary("mean fct")
    assert summary["cc"].to_list() == ["dctcp", "dctcp", "reno", "reno"]
    expected = stats.median_ci(own, "fct_s", by=["cc", "flows"])
    assert summary["median"].to_list() == pytest.approx(expected["median"].to_list())
    assert sweep.summary("p99 slowdown", by="cc").height == 2
    assert sweep.summary("jain goodput", by=()).height == 1
    by_function = sweep.values(lambda result: result.flows["fct_s"].mean())  # type: ignore[arg-type,return-value]
    assert by_function["value"].to_list() == pytest.approx(values["value"].to_list())


def test_comparisons_are_paired(sweep: weft.Sweep) -> None:
    found = sweep.compare("reno", "dctcp", "mean fct")
    values = sweep.values("mean fct").pivot("cc", index=["flows", "seed"], values="value")
    ratios = values.select("flows", ratio=pl.col("reno") / pl.col("dctcp"))
    expected = ratios.group_by("flows").agg(pl.col("ratio").median()).sort("flows")
    assert found["ratio"].to_list() == pytest.approx(expected["ratio"].to_list())
    assert (found["low"] <= found["ratio"]).all()
    difference = sweep.compare("reno", "dctcp", "mean timeouts")
    assert "difference" in difference.columns
    assert sweep.compare(4, 2, "mean fct")["cc"].to_list() == ["dctcp", "reno"]
    for a, b in (("reno", "amp"), ("reno", "reno")):
        with pytest.raises(UsageError, match="not two values of a field; allowed: cc: dctcp, reno; flows: 2, 4"):
            sweep.compare(a, b)


def test_settings_of_several_fields_have_one_name() -> None:
    schemes = {
        "short": {"queues.limit": "20 packets", "transports.dctcp.cc": {"name": "dctcp", "g": 0.5}},
        "long": {"queues.limit": "200 packets", "queues.mark": "40 packets"},
    }
    found = weft.sweep(SPEC, over={"scheme": schemes}, seeds=1, workers=1)
    assert found.axes == {"scheme": ["short", "long"]}
    specs = {labels["scheme"]: result.manifest["spec"] for labels, result in found.results()}
    assert specs["short"]["queues"]["limit"] == "20 packets"
    assert specs["short"]["transports"]["dctcp"]["cc"]["g"] == 0.5
    assert specs["long"]["queues"]["mark"] == "40 packets"
    assert weft.Sweep(found.folder).flows["scheme"].unique(maintain_order=True).to_list() == ["short", "long"]


def test_own_algorithms_are_values() -> None:
    lossy = SPEC | {"queues": {"limit": "30 packets"}, "traffic": [SPEC["traffic"][0] | {"size": "2MB"}]}
    found = weft.sweep(lossy, over={"transports.dctcp.cc": [Halving, Thirds, "reno"]}, seeds=2)
    assert found.axes == {"cc": ["Halving", "Thirds", "reno"]}
    alone = weft.run(lossy | {"transports": {"dctcp": {"cc": Thirds}}}, seed=2)
    own = found.flows.filter(cc="Thirds", seed=2)
    assert own.sort("flow")["fct_s"].to_list() == alone.flows.sort("flow")["fct_s"].to_list()
    assert found.flows.filter(cc="Halving")["fct_s"].to_list() != found.flows.filter(cc="Thirds")["fct_s"].to_list()


class Broken(Halving):
    """Fails at the first loss."""

    def on_loss(self, w, s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        return w[s].cwnd / 0


def test_own_algorithms_of_a_module_run_in_several_processes() -> None:
    lossy = SPEC | {"queues": {"limit": "30 packets"}, "traffic": [SPEC["traffic"][0] | {"size": "2MB"}]}
    over = {"transports.dctcp.cc": [Halving, Thirds]}
    one, two = (weft.sweep(lossy, over=over, seeds=2, workers=workers) for workers in (1, 2))
    assert one.flows.equals(two.flows)
    with pytest.warns(ResultWarning, match="2 runs failed, the first .*Broken.*ZeroDivisionError"):
        failed = weft.sweep(lossy, over={"transports.dctcp.cc": [Broken, Thirds]}, seeds=2, workers=2)
    assert "test_sweep.py:" in failed.failures[0]["reason"]

    class Local(Halving):
        pass

    with pytest.raises(UsageError, match=r"workers: other processes cannot import .*Local from a script"):
        weft.sweep(lossy, over={"transports.dctcp.cc": [Local]}, seeds=2, workers=2)
    assert len(weft.sweep(lossy, over={"transports.dctcp.cc": [Local]}, seeds=2).document["runs"]) == 2


def test_precision_adds_seeds_where_they_are_needed(tmp_path: Path) -> None:
    spec = tomllib.loads((Path(__file__).parents[2] / "examples" / "permutation.toml").read_text())
    over = {"transports.sender.subflows": [1, 4]}
    found = weft.sweep(spec, over=over, precision=0.12, of="mean goodput", max_seeds=30, workers=2, out=tmp_path / "s")
    summary = found.summary("mean goodput")
    widths = ((summary["high"] - summary["low"]) / 2 / summary["median"]).to_list()
    assert summary["n"][0] > summary["n"][1] >= 6
    assert all(width <= 0.12 or n == 30 for width, n in zip(widths, summary["n"], strict=True))
    document = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert document["precision"] == {"of": "mean goodput", "share": 0.12, "max_seeds": 30}
    assert [cell["point"] for cell in document["looks"]] == [[0], [1]]
    # Intervals are wider than those that ignore the looks.
    plain = stats.median_ci(found.values("mean goodput"), "value", by="subflows")
    assert (plain["low"] >= summary["low"]).all()
    again = weft.sweep(spec, over=over, precision=0.12, of="mean goodput", max_seeds=30, out=tmp_path / "s")
    assert again.summary("mean goodput").equals(summary)


def test_a_sweep_without_a_folder_is_temporary(tmp_path: Path) -> None:
    found = weft.sweep(SPEC, seeds=1, workers=1)
    folder = found.folder
    assert folder.is_dir()
    found.save(tmp_path / "kept")
    del found
    assert not folder.exists()
    assert weft.Sweep(tmp_path / "kept").flows.height == 4


def test_failures_are_told() -> None:
    heavy = {"traffic[0].size": ["64KB", "64KB"]}
    with pytest.raises(UsageError, match="has 64KB twice"):
        weft.sweep(SPEC, over=heavy)
    down = {"events": [[], [{"at": "0s", "links": ["s0->r0"], "state": "down"}]]}
    with pytest.warns(ResultWarning, match="no flow was established"):
        weft.sweep(SPEC, over=down, seeds=1, workers=1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: weft.sweep("absent.toml"), SpecError, "cannot be read"),
        (lambda: weft.sweep(SPEC, over={"queues.mrk": [1]}), SpecError, "queues.mrk: unknown field; allowed: "),
        (lambda: weft.sweep(SPEC, over={"seed": [1]}), UsageError, "use seeds= for seeds"),
        (
            lambda: weft.sweep(SPEC, over={"queues.mark": [10, 20]}),
            SpecError,
            'queues.mark: 10; allowed: "off", or packets or bytes with a unit, such as "10 packets"',
        ),
        (lambda: weft.sweep(SPEC, over={"queues.mark": []}), UsageError, "has no values"),
        (lambda: weft.sweep(SPEC, over={"queues.mark": "10"}), UsageError, "allowed: a list of values"),
        (lambda: weft.sweep(SPEC, over={"queues.mark": [object()]}), UsageError, "allowed: values of JSON"),
        (lambda: weft.sweep(SPEC, over=[1]), UsageError, "allowed: a dictionary"),  # type: ignore[arg-type]
        (lambda: weft.sweep(SPEC, seeds=0), UsageError, "seeds: 0; allowed: a whole number from 1"),
        (lambda: weft.sweep(SPEC, precision=5), UsageError, "precision: 5; allowed: between 0 and 1"),
        (lambda: weft.sweep(SPEC, precision=0.1, of="nonsense"), UsageError, "not a statistic and a quantity"),
        (lambda: weft.Sweep("absent"), NotAFolderError, "not the folder of a sweep"),
        (lambda: weft.Sweep("absent"), FileNotFoundError, "not the folder of a sweep"),
        (lambda: weft.Result.read("absent"), FileNotFoundError, "not a run folder"),
        (lambda: measures.parse("p101 fct"), ValueError, "p0 to p100"),
        (lambda: measures.parse("p99 queue below 10KB"), UsageError, "remove the sizes"),
    ],
)
def test_wrong_arguments_have_one_line(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_measures() -> None:
    flows = pl.DataFrame(
        {
            "size_bytes": [1_000, 200_000, 20_000_000, 20_000_000],
            "fct_s": [1.0, 2.0, 3.0, None],
            "unfinished_s": [None, None, None, 9.0],
            "goodput_bps": [1.0, 2.0, 3.0, 6.0],
        }
    )
    for text, value, at_least in (
        ("mean fct", 15 / 4, True),
        ("max fct", 9.0, True),
        ("min fct", 1.0, False),
        ("p50 fct", 2.5, False),
        ("mean fct below 1MB", 1.5, False),
        ("mean goodput from 10MB", 4.5, False),
        ("sum goodput from 100KB below 10MB", 2.0, False),
        ("max size_bytes", 2e7, False),
    ):
        row = measures.parse(text).values(flows, []).row(0, named=True)
        assert (row["value"], row["at_least"]) == (pytest.approx(value), at_least), text
    queues = pl.DataFrame({"link": [0, 1], "packets": [9, 9], "time_at_length_s": [[0.5, 0.5], [0.0, 0.0, 1.0]]})
    assert measures.parse("p99 queue").values(queues, []).item(0, "value") == 2
    assert measures.parse("mean queue").values(queues, []).item(0, "value") == pytest.approx(1.25)


def test_values_become_text_of_specs() -> None:
    axis = Axis.of("a.b", ["10 packets", "10", 10, 0.5, True, {"name": "amp", "gamma": 3}, ["x", 1]])
    assert axis.values == (
        "10 packets",
        '"10"',
        "10",
        "0.5",
        "true",
        '{"name" = "amp", "gamma" = 3}',
        '["x", 1]',
    )


def test_import_is_fast(tmp_path: Path) -> None:
    """`import weft` loads neither Polars nor pydantic nor Matplotlib."""
    import subprocess
    import sys

    code = (
        "import sys, weft; print(sorted({'polars', 'pydantic', 'matplotlib', 'altair', 'optuna'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"
