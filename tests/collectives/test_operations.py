"""Operations of jobs: their times, bandwidths and exposed times against values computed by hand, at level `flow`.

Links of 10 Gbps, 1 us from host to host, without headers and handshakes: a message of s bytes takes 1 us + s x 0.8 ns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft
from tests.collectives import chakra_files
from tests.collectives.test_closed_forms import START, message
from tests.collectives.test_ranks import KINDS, run, spec

HEADERLESS = {"cc": "dctcp", "tcp": {"header": "0B", "mss": "1B"}}
STEP = {"kind": "training", "layers": 3, "forward": "1ms", "backward": "2ms", "gradient_size": "4MB"}
RING = 6 * message(1e6)
"""An all-reduce of 4 MB by 4 ranks."""
COLUMNS = ("group", "layer", "pass", "first_rank", "ranks", "size_bytes")


def operations(ranks: int, traffic: dict[str, Any], **fields: Any) -> pl.DataFrame:
    """The operations of a job that begins at `START`, with times from then on."""
    alone = {"start": f"{START}s", "connections": "persistent", "send_done": "started"}
    described = spec(ranks, traffic | alone, transport=HEADERLESS, level="flow", probes=[{"kind": "steps"}], **fields)
    found = run(described, threads=1).operations
    return found.with_columns(pl.col("start_s", "ready_s", "end_s") - START)


def near(*values: float) -> Any:
    return pytest.approx(list(values), rel=1e-4, abs=1e-8)


def test_gradients_follow_one_another_and_computing_hides_a_part() -> None:
    found = operations(4, STEP)
    assert found["layer"].to_list() == [2, 1, 0]
    assert found.select("group", "pass", "operation").unique().rows() == [("data", "backward", "all-reduce")]
    # The gradients of layer 2 exist 5 ms after the start, and those of the others before its all-reduce has ended.
    begins = [5e-3 + RING * n for n in range(3)]
    assert found["start_s"].to_list() == near(*begins)
    assert found["ready_s"].to_list() == near(*begins)
    assert found["end_s"].to_list() == near(*(begin + RING for begin in begins))
    # The ranks compute for 9 ms.
    assert found["exposed_s"].to_list() == near(5e-3 + RING - 9e-3, RING, RING)
    assert found["algorithm_bps"].to_list() == near(*[8 * 4e6 / RING] * 3)
    assert found["bus_bps"].to_list() == near(*[8 * 4e6 / RING * 2 * 3 / 4] * 3)


def test_a_straggler_begins_last() -> None:
    found = operations(4, STEP | {"stragglers": [2], "straggler_factor": 4.0})
    # It computes for 4 and 8 ms per layer.
    assert found["start_s"][0] == pytest.approx(5e-3)
    assert found["ready_s"].to_list() == near(20e-3, 28e-3, 36e-3)
    assert found["end_s"].to_list() == near(*(ready + RING for ready in (20e-3, 28e-3, 36e-3)))
    # Other ranks have computed after 9 ms. The straggler computes during all of the first two.
    assert found["exposed_s"].to_list() == near(20e-3 + RING - 9e-3, 8e-3, 8e-3)


def test_gradients_without_overlap_are_exposed() -> None:
    found = operations(4, STEP | {"overlap": False})
    assert found["layer"].to_list() == [2, 1, 0]
    assert found["start_s"].to_list() == near(*(9e-3 + RING * n for n in range(3)))
    assert found["exposed_s"].to_list() == near(*[RING] * 3)


def test_all_groups_of_a_step() -> None:
    step = {
        "kind": "training",
        "layers": 2,
        "forward": "1ms",
        "backward": "2ms",
        "stages": 2,
        "activation_size": "1MB",
        "tensor_ranks": 2,
        "tensor_size": "1MB",
        "expert_ranks": 2,
        "expert_size": "1MB",
        "gradient_size": "1MB",
    }
    found = operations(8, step)
    # Two tensor-parallel all-reduces and two all-to-alls of experts per layer and direction, by two groups per stage.
    counts = found.group_by("group", "layer", "pass").len().sort("group", "layer", "pass").rows()
    assert counts == [
        *[("data", layer, "backward", 2) for layer in (0, 1)],
        *[
            (group, layer, way, 4)
            for group in ("expert", "tensor")
            for layer in (0, 1)
            for way in ("backward", "forward")
        ],
    ]
    first = found.filter(group="tensor", layer=0, **{"pass": "forward"}).row(0, named=True)
    assert (first["first_rank"], first["ranks"], first["size_bytes"]) == (0, 2, 1_000_000)
    # The attention of the first layer, and then a ring of two ranks with two steps of half the array.
    assert [first["start_s"], first["end_s"]] == near(0.5e-3, 0.5e-3 + 2 * message(5e5))
    assert first["exposed_s"] == pytest.approx(2 * message(5e5), rel=1e-4)
    last = found.filter(group="tensor", layer=1)["first_rank"].unique().sort().to_list()
    assert last == [4, 6]
    exchange = found.filter(group="expert").row(0, named=True)
    assert exchange["bus_bps"] == pytest.approx(8e6 / message(5e5) / 2, rel=1e-4)
    drawn = operations(8, step | {"top_k": 2}).filter(group="expert")
    assert drawn["size_bytes"].unique().to_list() == [2_000_000]


def test_a_collective_has_a_row_per_group() -> None:
    traffic = {"kind": "collective", "operation": "all-reduce", "size": "4MB", "repeats": 2, "compute": "1ms"}
    found = operations(4, traffic)
    assert found["start_s"].to_list() == near(1e-3, 2e-3 + RING)
    assert found.select(*COLUMNS).row(0) == (None, None, None, 0, 4, 4_000_000)
    groups = operations(4, traffic | {"group_size": 2})
    assert groups.select("job", "first_rank", "ranks").rows() == [(0, 0, 2), (0, 2, 2), (1, 0, 2), (1, 2, 2)]


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.parametrize("kind", ["tcp", "uet"])
def test_a_single_operation_is_the_job(kind: str) -> None:
    traffic = {"kind": "collective", "operation": "all-to-all", "size": "1MB"}
    result = run(spec(8, traffic, transport=KINDS[kind], probes=[{"kind": "steps"}]), threads=2)
    columns = ("start_s", "end_s", "algorithm_bps", "bus_bps", "last_rank", "exposed_s", "size_bytes")
    assert result.operations.select(columns).equals(result.jobs.select(columns), null_equal=True)


def test_operations_of_traces(tmp_path: Path) -> None:
    chakra_files.write(tmp_path / "step", chakra_files.backward_pass(4))
    found = operations(4, {"kind": "trace", "format": "chakra", "file": str(tmp_path / "step")})
    # Collective nodes of a rank run next to each other: the rings share the links from 0.3 ms on.
    assert found.select(*COLUMNS).unique().rows() == [("0", None, None, 0, 4, 2_000_000)]
    assert found["start_s"].to_list() == near(0.1e-3, 0.2e-3, 0.3e-3)
    ends, exposed = found["end_s"].to_list(), found["exposed_s"].to_list()
    assert exposed == near(
        *(end - max(begin, 0.3e-3) for begin, end in zip((0.1e-3, 0.2e-3, 0.3e-3), ends, strict=True))
    )

    table = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8\n2\n"
    rows = [
        "attention -1 100000 ALLREDUCE 1000000 100000 NONE 0 100000 ALLREDUCE 4000000 0",
        "mlp -1 100000 ALLTOALL_EP 1000000 100000 NONE 0 100000 REDUCESCATTER_DP_EP 4000000 0",
    ]
    (tmp_path / "layers.txt").write_text(table + "\n".join(rows), encoding="utf-8")
    found = operations(8, {"kind": "trace", "format": "simai", "file": str(tmp_path / "layers.txt")})
    kinds = found.select("group", "layer", "pass", "operation", "ranks").unique(maintain_order=True).rows()
    assert kinds == [
        ("tensor", 0, "forward", "all-reduce", 2),
        ("expert", 1, "forward", "all-to-all", 2),
        ("data of experts", 1, "weight gradient", "reduce-scatter", 2),
        ("data", 0, "weight gradient", "all-reduce", 4),
    ]
    first = found.filter(group="data of experts").row(0, named=True)
    begin = 0.2e-3 + 2 * message(5e5) + message(5e5) + 0.2e-3
    assert [first["start_s"], first["end_s"]] == near(begin, begin + message(2e6))
    # Layer 0 computes for 200 us of it.
    assert first["exposed_s"] == pytest.approx(message(2e6) - 0.2e-3, rel=1e-4)


def test_an_operation_that_did_not_end() -> None:
    found = operations(4, STEP, duration="8ms")
    assert found["layer"].to_list() == [2]
    row = found.row(0, named=True)
    assert row["ready_s"] == pytest.approx(5e-3)
    assert {row[name] for name in ("end_s", "algorithm_bps", "bus_bps", "last_rank", "exposed_s")} == {None}


def test_without_the_probe_there_are_none(tmp_path: Path) -> None:
    result = run(spec(4, STEP, transport=KINDS["tcp"], level="flow"))
    assert result.operations.is_empty()
    result.write(tmp_path / "out")
    assert weft.Result.read(tmp_path / "out").operations.equals(result.operations)
