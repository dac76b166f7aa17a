"""Steps of training at the levels `packet` and `flow`."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.collectives.test_ranks import KINDS, run, spec

STEP: dict[str, Any] = {
    "kind": "training",
    "layers": 4,
    "forward": "50us",
    "backward": "100us",
    "micro_batches": 2,
    "steps": 2,
    "tensor_ranks": 2,
    "tensor_size": "100KB",
    "stages": 2,
    "activation_size": "100KB",
    "expert_ranks": 2,
    "expert_size": "100KB",
    "top_k": 1,
    "gradient_size": "500KB",
    "compute_deviation": 0.1,
}


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.parametrize("kind", ["tcp", "uet", "ndp", "roce"])
def test_all_groups_end_alike_for_any_number_of_threads(kind: str) -> None:
    experiment = spec(8, STEP, transport=KINDS[kind], duration="60ms")
    results = [run(experiment, threads=threads, trace_hash=True) for threads in (1, 2, 4)]
    assert results[0].jobs["finish_s"].null_count() == 0
    assert (len(results[0].jobs), len(results[0].ranks)) == (2, 16)
    assert len({result.manifest["trace_hash"] for result in results}) == 1
    for other in results[1:]:
        assert other.ranks.equals(results[0].ranks)


def step_s(**fields: Any) -> float:
    """The time of a step of 4 data-parallel ranks at level `flow`, whose layers compute 1 and 2 ms."""
    step = {"kind": "training", "layers": 4, "forward": "1ms", "backward": "2ms", "gradient_size": "1MB", **fields}
    jobs = run(spec(4, step, transport=KINDS["tcp"], level="flow")).jobs
    return float(jobs["jct_s"].item())


def test_computing_hides_all_gradients_but_the_last() -> None:
    computing = 4 * 3e-3
    # Each all-reduce sends 1.5 MB at 10 Gbps, with headers and latencies.
    all_reduce = step_s() - computing
    assert all_reduce == pytest.approx(1.5e6 * 8 / 10e9 * 1514 / 1448, rel=0.05)
    assert step_s(overlap=False) - computing == pytest.approx(4 * all_reduce, rel=0.01)
    # The ring waits for rank 2, which computes for half as long again. The messages that it then sends share its link,
    # so that the first one of them arrives later than alone.
    delay = step_s(stragglers=[2], straggler_factor=1.5) - step_s()
    assert computing / 2 <= delay <= computing / 2 + 2 * all_reduce


def test_a_step_waits_for_a_slow_link() -> None:
    step = {"kind": "training", "layers": 1, "forward": "1ms", "backward": "2ms", "gradient_size": "1MB"}
    experiment = spec(4, step, transport=KINDS["tcp"], level="flow")
    experiment["links"] = {"h1->leaf0": {"rate": "2Gbps"}}
    result = run(experiment)
    assert result.jobs["jct_s"].item() - 3e-3 == pytest.approx(1.5e6 * 8 / 2e9 * 1514 / 1448, rel=0.05)


def test_wrong_fields_are_one_line() -> None:
    with pytest.raises(weft.SpecError, match=r"^traffic\[0\]\.top_k: 5; allowed: 1 to 2, the expert_ranks$"):
        run(spec(8, STEP | {"top_k": 5}))
