"""`weft tune`: what it looks for, how, and that it says the same after it was killed."""

from __future__ import annotations

import json
import random
import shlex
import signal
import statistics
import subprocess
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft as package
from tests.command import INCAST, WEFT, Ended, weft
from weft import cli
from weft.errors import UsageError
from weft.exit_codes import run_command
from weft.search.command import Checked, Outcome, Tuning
from weft.search.objective import Objective
from weft.search.space import Choice, Range, combinations, parse
from weft.search.study import Trial, Trials

FCT = "avg(fct_s) FROM flows"
QUICK = ["--trials", "10", "--batch-size", "4", "--seeds", "2"]

RESOLVED: dict[str, Any] = {
    "transports": {
        "a": {"cc": {"name": "amp"}},
        "d": {"cc": {"name": "dctcp"}},
        "r": {"cc": {"name": "fully-coupled"}},
        "s": {"kind": "constant-rate"},
    }
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b=2:8", Range("a.b", Decimal(2), Decimal(8), whole=True)),
        ("a.b=2.0:8", Range("a.b", Decimal("2.0"), Decimal(8), whole=False)),
        ("a=2:8:2", Range("a", Decimal(2), Decimal(8), whole=True, step=Decimal(2))),
        ("a=2:9:2", Range("a", Decimal(2), Decimal(8), whole=True, step=Decimal(2))),
        ("a=1:1000:log", Range("a", Decimal(1), Decimal(1000), whole=True, log=True)),
        ("a=5 packets:90 packets", Range("a", Decimal(5), Decimal(90), whole=True, unit="packets")),
        ("a=10us:20us:5us", Range("a", Decimal(10), Decimal(20), whole=True, step=Decimal(5), unit="us")),
        ("a=1µs:9µs", Range("a", Decimal(1), Decimal(9), whole=True, unit="µs")),
        ("a=1Gbit/s:9Gbit/s", Range("a", Decimal(1), Decimal(9), whole=True, unit="Gbit/s")),
        ("a=-1.5:1", Range("a", Decimal("-1.5"), Decimal(1), whole=False)),
        ("a=amp,xmp", Choice("a", ("amp", "xmp"))),
        ('a={ x = 1, y = 2 }, "u,v"', Choice("a", ("{ x = 1, y = 2 }", '"u,v"'))),
    ],
)
def test_range(text: str, expected: object) -> None:
    assert parse([text], RESOLVED) == [expected]


def test_ranges_of_the_registry() -> None:
    found = {value.field: value for value in parse(["transports.a.cc"], RESOLVED)}
    beta = found["transports.a.cc.beta"]
    assert isinstance(beta, Range)
    assert not beta.whole
    gamma = found["transports.a.cc.gamma"]
    assert isinstance(gamma, Range)
    assert gamma.whole
    assert gamma.log, "a range of six decades"
    assert parse(["transports.a.cc.gamma"], RESOLVED) == [gamma]
    schema = package.api.schema()["$defs"]["AmpCc"]["properties"]
    assert set(found) == {f"transports.a.cc.{name}" for name in schema if name != "name"}
    for name, parameter in ((field.rsplit(".", 1)[1], value) for field, value in found.items()):
        assert isinstance(parameter, Range)
        assert (parameter.low, parameter.high) == (schema[name]["minimum"], schema[name]["maximum"])


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], "0 fields to tune; allowed: 1 to 50"),
        (["a"], "has no range"),
        (["=1:2"], "has no values"),
        (["a="], "has no values"),
        (["a=1"], "neither a range nor a list of distinct values"),
        (["a=1,1"], "neither a range nor a list of distinct values"),
        (["a=1,,2"], "neither a range nor a list of distinct values"),
        (["a=8:2"], "empty range"),
        (["a=2:2"], "empty range"),
        (["a=2:8:0"], "empty range"),
        (["a=2:8:7"], "empty range"),
        (["a=0:8:log"], "a log range must start above 0"),
        (["a=-2:8:log"], "a log range must start above 0"),
        (["a=1us:1ms"], "has two units"),
        (["a=1:2us"], "has two units"),
        (["a=1us:9us:2"], "has two units"),
        (["a=1:2", "a=3:4"], "given twice"),
        (["transports.a.cc", "transports.a.cc.beta"], "given twice"),
        (["seed=1:9"], "cannot be tuned"),
        (["sweep.seeds=1:9"], "cannot be tuned"),
        (["transports.x.cc"], "has no range; allowed: "),
        (["transports.s.cc"], "has no range; allowed: "),
        (["cc"], "did you mean transports.a.cc or transports.d.cc or transports.r.cc? allowed: "),
        (["gamma"], "has no range; did you mean transports.a.cc.gamma? allowed: "),
        (["transports.a.subflows"], "has no range"),
        (["transports.a.cc.delta"], "amp has no 'delta'; allowed: beta, cwnd_min"),
        (["transports.d.cc.name"], "dctcp has no 'name'"),
        (["transports.r.cc"], "fully-coupled has no parameters; choose another algorithm"),
    ],
)
def test_invalid_tunings_are_refused(texts: list[str], words: str) -> None:
    with pytest.raises(UsageError, match="--over") as raised:
        parse(texts, RESOLVED)
    assert words in str(raised.value)
    assert "; " in str(raised.value) or words == "a log range must start above 0"


def test_values_are_as_set_takes_them() -> None:
    real = Range("a", Decimal("0.00001"), Decimal(1), whole=False)
    assert real.text(real.rounded(0.000012345678901)) == "0.0000123457"
    assert real.rounded(0.9999999999) == 1.0
    third = Range("a", Decimal(0), Decimal("0.3333333333"), whole=False)
    assert third.rounded(0.33333333329) <= 0.3333333333, "within the range"
    assert Range("a", Decimal(1), Decimal(9), whole=True, unit="packets").ends() == ["1 packets", "9 packets"]
    assert Range("a", Decimal(1), Decimal("2.5"), whole=False, unit="us").ends() == ["1.0us", "2.5us"]


def test_combinations() -> None:
    finite = parse(["a=3:9", "b=0.0:1:0.25", "c=x,y"], RESOLVED)
    assert [parameter.size for parameter in finite] == [7, 5, 2]
    assert combinations(finite) == 70
    assert combinations(parse(["a=3:9", "b=0.0:1"], RESOLVED)) is None
    for parameter in finite:
        for index in range(parameter.size or 0):
            value: Any = parameter.at(index)
            assert parameter.index(value) == index
    spec = {"a": {"b": ["x", {"c": "10 packets", "d": "1.5us", "e": {"name": "amp"}, "f": 3}]}}
    for text, shown in (
        ("a.b[1].c=2 packets:9 packets", 10),
        ("a.b[1].d=1us:9us", 1.5),
        ("a.b[1].d=1ms:9ms", "1.5us"),
        ("a.b[1].f=1:9", 3),
        ("a.b[1].e=amp,xmp", "amp"),
        ("a.b[2].f=1:9", "none"),
    ):
        assert parse([text], RESOLVED)[0].of_spec(spec) == shown, text


@pytest.mark.parametrize("batch", [1, 4, 50])
def test_no_combination_is_proposed_twice(tmp_path: Path, batch: int) -> None:
    """Each combination is tried once, also those of trials that failed, and then there are no proposals."""
    parameters = parse(["a=3:9", "b=0.1:0.5:0.1", "c=x,y"], RESOLVED)
    trials = Trials(tmp_path, parameters, "minimize")
    while proposed := trials.propose(len(trials.ended), batch):
        for values in proposed:
            distance = abs(values["a"] - 5) + values["b"]
            trials.append(Trial(len(trials.ended), values, distance if values["c"] == "x" else None, (), ""))
    tried = {(trial.values["a"], round(trial.values["b"], 9), trial.values["c"]) for trial in trials.ended}
    assert len(tried) == len(trials.ended) == combinations(parameters) == 70
    again = Trials(tmp_path, parameters, "minimize")
    assert again.ended == trials.ended
    assert again.propose(8, 3) == trials.propose(8, 3)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "incast.toml").write_text(INCAST)
    done = weft("run", "incast.toml", "--out", "out", cwd=folder)
    assert done.code == 0, done
    return folder / "out"


def test_objective_is_one_number(run: Path) -> None:
    flows = pl.read_parquet(run / "flows.parquet")
    assert Objective.parse(FCT, None).of(run) == pytest.approx(flows["fct_s"].mean())
    largest = Objective.parse(None, "select max(fct_s) from flows")
    assert largest.of(run) == flows["fct_s"].max()
    assert largest.direction == "maximize"
    assert Objective.parse("count(*) FROM subflows", None).of(run) == 4
    both = "avg(f.fct_s) FROM flows f JOIN subflows s ON f.flow = s.flow"
    assert Objective.parse(both, None).of(run) == pytest.approx(flows["fct_s"].mean())
    query = "WITH slow AS (SELECT fct_s FROM flows ORDER BY fct_s DESC LIMIT 2) SELECT min(fct_s) FROM slow"
    assert Objective.parse(query, None).of(run) == sorted(flows["fct_s"])[-2]
    assert Objective.parse("avg(jct_s) FROM jobs", None).of(run) is None, "there are no jobs"
    assert Objective.parse("ln(avg(fct_s) - avg(fct_s)) FROM flows", None).of(run) is None, "no finite number"


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("avg(fct_s), max(fct_s) FROM flows", "gives 2 columns"),
        ("'a' FROM flows LIMIT 1", "gives String"),
        ("avg(speed) FROM flows", "speed"),
        ("avg(x) FROM nowhere", "nowhere"),
        ("avg(x) FROM read_parquet('/nope')", "/nope"),
        ("speed(fct_s) FROM flows", "speed"),
    ],
)
def test_objective_that_no_run_has(sql: str, words: str) -> None:
    with pytest.raises(UsageError, match="--minimize") as raised:
        Objective.parse(sql, None)
    assert words in str(raised.value)
    assert "allowed: one number" in str(raised.value)


@pytest.mark.parametrize(("sql", "rows"), [("fct_s FROM flows", 4), ("fct_s FROM flows WHERE fct_s < 0", 0)])
def test_objective_that_is_several_numbers(run: Path, sql: str, rows: int) -> None:
    with pytest.raises(UsageError, match=f"gives {rows} rows; allowed: one number"):
        Objective.parse(sql, None).of(run)


def test_journal_survives_half_a_line(tmp_path: Path) -> None:
    parameters = parse(["a=0.0:1", "b=1:9"], RESOLVED)

    def tried(trials: Trials, number: int) -> None:
        for n, values in enumerate(trials.propose(0, number)):
            if n >= len(trials.ended):
                trials.append(Trial(n, values, values["a"], (values["a"],), ""))

    (tmp_path / "whole").mkdir()
    whole = Trials(tmp_path / "whole", parameters, "minimize")
    tried(whole, 6)
    journal = (tmp_path / "whole" / "trials.log").read_bytes()
    broken = tmp_path / "broken"
    broken.mkdir()
    for size in random.Random(1).sample(range(len(journal)), 10):  # noqa: S311
        (broken / "trials.log").write_bytes(journal[:size])
        (broken / "trials.log.lock").write_text("")
        again = Trials(broken, parameters, "minimize")
        tried(again, 6)
        assert again.ended == whole.ended
        assert Trials(broken, parameters, "minimize").ended == whole.ended


def test_proposals_depend_on_ended_trials_only(tmp_path: Path) -> None:
    parameters = parse(["a=0.0:1", "b=1:9", "c=x,y"], RESOLVED)
    trials = Trials(tmp_path, parameters, "maximize")
    for n, values in enumerate(trials.propose(0, 16)):
        trials.append(Trial(n, values, values["a"], (), "") if n % 5 else Trial(n, values, None, (), "failed"))
    proposed = trials.propose(16, 8)
    assert trials.propose(16, 3) == proposed[:3]
    assert trials.propose(16, 8) == proposed
    assert len({json.dumps(values) for values in proposed}) > 1
    better = sum(values["a"] for values in proposed) / 8
    assert better > sum(value.values["a"] for value in trials.ended) / 16, "it learns"


def tune(*arguments: str, cwd: Path, out: str = "out") -> Ended:
    return weft("tune", "incast.toml", *QUICK, *arguments, "--out", out, "--json", cwd=cwd)


DELAY = ["--over", "topology.delay=1us:50us", "--minimize", FCT]


def test_best_is_found_and_runs_again(spec: Path) -> None:
    done = tune(*DELAY, "--trials", "24", "--workers", "1", cwd=spec.parent)
    assert (done.code, done.err) == (0, ""), done
    document = done.document
    best = document["best"]
    assert best["values"]["topology.delay"] <= 5, "the shorter the wire the sooner is all there"
    table = pl.read_parquet(spec.parent / document["table"])
    assert table.columns == ["trial", "delay", "objective", "by_seed", "reason"]
    assert table["trial"].to_list() == list(range(24))
    assert table["objective"].min() == best["objective"]
    assert best["objective"] == pytest.approx(sum(best["by_seed"]) / 2)
    # By its command, and by its spec.
    program, *words = shlex.split(best["command"])
    assert program == "weft"
    for n, command in enumerate((words, ["run", best["spec"]])):
        assert weft(*command, "--out", f"again{n}", cwd=spec.parent).code == 0
        flows = pl.read_parquet(spec.parent / f"again{n}" / "flows.parquet")
        assert flows["fct_s"].mean() == pytest.approx(best["by_seed"][0])
    # The check is by seeds that chose nothing: the spec's own is 1, the trials' are 1 and 2.
    check = document["check"]
    assert check["first_seed"] == 3
    for which, delay in (("best", best["values"]["topology.delay"]), ("given", 5)):
        one = ["--set", f"topology.delay={delay}us", "--seed", "4", "--out", which]
        assert weft("run", "incast.toml", *one, cwd=spec.parent).code == 0
        flows = pl.read_parquet(spec.parent / which / "flows.parquet")
        assert check[which]["by_seed"][1] == pytest.approx(flows["fct_s"].mean())
    assert check["difference"]["median"] == pytest.approx(
        statistics.median(a - b for a, b in zip(check["best"]["by_seed"], check["given"]["by_seed"], strict=True))
    )
    assert check["difference"]["median"] <= 0


def test_small_range_is_tried_in_full(spec: Path) -> None:
    question = ["--over", "traffic[0].flows=2:6", "--minimize", FCT, "--trials", "9", "--seeds", "2", "--workers", "1"]
    done = tune(*question, cwd=spec.parent)
    assert done.code == 0, done
    table = pl.read_parquet(spec.parent / "out" / "trials.parquet")
    assert sorted(table["flows"]) == [2, 3, 4, 5, 6]
    assert done.document["trials"] == 5
    assert done.document["best"]["values"] == {"traffic[0].flows": 2}
    of_four = table.filter(flows=4)["objective"].item()
    assert done.document["given"] == {"values": {"traffic[0].flows": 4}, "objective": of_four}
    shown = weft("tune", spec.name, *QUICK, *question, "--out", "out", cwd=spec.parent)
    assert shown.code == 0, shown
    lines = [line.split() for line in shown.out.splitlines()]
    assert lines[0] == ["The", "best", "of", "5", "trials,", "all", "combinations"]
    assert ["trial", "traffic[0].flows", "objective"] in lines
    assert ["as", "given", "4", f"{of_four:.3g}"] in lines
    assert f"Objective to minimize: {FCT}" in shown.out
    assert shown.out.endswith("All trials: out/trials.parquet\n")


@pytest.mark.parametrize(
    ("flag", "difference", "words"),
    [
        ("--minimize", (-1.0, -1.1, -1.05, -0.9, -1.2), None),
        ("--maximize", (1.0, 1.1, 1.05, 0.9, 1.2), None),
        ("--minimize", (1.0, -1.0, 0.5, 0.7, 0.8), "No improvement found: the interval of the difference includes 0."),
        ("--minimize", (1.0, 1.1, 1.05, 0.9, 1.2), "No improvement found: at the unused seeds the best trial is worse"),
        ("--minimize", (0.0,) * 5, "No improvement found: the interval of the difference includes 0."),
        ("--minimize", (None,) * 5, "No improvement found: the best trial or the spec as given has no result"),
        ("--minimize", (-1.0,) * 4, "Fewer than five seeds give no interval; use --seeds 5 or more"),
    ],
)
def test_finding(flag: str, difference: tuple[float | None, ...], words: str | None) -> None:
    none = Checked.of(())
    tuning = Tuning(Path("a.toml"), (), (), Objective(flag, FCT), 3, 8, force=False)
    trial = Trial(0, {}, 1.0, (), "")
    outcome = Outcome(tuning, Path("out"), (trial,), trial, {}, None, "", 4, none, none, Checked.of(difference))
    finding = outcome.finding()
    assert (finding is None) == (words is None)
    assert (finding or "").startswith(words or "")


def test_tuning_without_an_improvement_says_so(spec: Path) -> None:
    # The objective does not depend on this field.
    question = ["--over", "topology.senders=4:6", "--maximize", "count(*) FROM flows", "--seeds", "5"]
    done = weft("tune", spec.name, *question, "--out", "out", "--workers", "1", cwd=spec.parent)
    assert done.code == 0, done
    assert "No improvement found: the interval of the difference includes 0.\n" in done.out
    assert "To run the best trial nevertheless:" in done.out


def test_killed_and_continued_is_as_unbroken(spec: Path) -> None:
    """Kills the command at random moments, and continues with another number of workers."""
    longer = ["--set", "traffic[0].rounds=300", "--set", "traffic[0].interval=1ms", "--set", "duration=1s"]
    question = ["--over", "transports.dctcp.cc.g", "--over", "queues.mark=2 packets:99 packets", "--minimize", FCT]
    unbroken = tune(*question, *longer, "--workers", "2", cwd=spec.parent, out="unbroken")
    assert unbroken.code == 0, unbroken
    moments = random.Random(13)  # noqa: S311
    command = [WEFT, "tune", "incast.toml", *QUICK, *question, *longer, "--out", "broken", "--json"]
    ended = []
    for workers in ("1", "2", "1"):
        process = subprocess.Popen([*command, "--workers", workers], cwd=spec.parent, stdout=subprocess.DEVNULL)
        runs = spec.parent / "broken" / "runs"
        wanted = len(list(runs.glob("??/*/manifest.json"))) + moments.randint(1, 6)
        until = time.monotonic() + 60
        while len(list(runs.glob("??/*/manifest.json"))) < wanted and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        ended.append(process.returncode)
    assert ended[0] == -signal.SIGKILL
    continued = tune(*question, *longer, cwd=spec.parent, out="broken")
    assert continued.code == 0, continued
    for name in ("trials.parquet", "best.json"):
        assert (spec.parent / "broken" / name).read_bytes() == (spec.parent / "unbroken" / name).read_bytes()
    assert continued.document["best"]["values"] == unbroken.document["best"]["values"]
    assert continued.document["check"] == unbroken.document["check"]
    # More trials begin with those that there are.
    more = tune(*question, *longer, "--trials", "11", cwd=spec.parent, out="broken")
    assert more.code == 0, more
    tables = [pl.read_parquet(spec.parent / out / "trials.parquet") for out in ("broken", "unbroken")]
    assert tables[0].head(10).equals(tables[1])
    # Another question is another folder's.
    for other, words in ((["--seeds", "1"], "a different seeds"), (["--set", "duration=2s"], "a different set")):
        line = tune(*question, *longer, *other, cwd=spec.parent, out="broken").complaint()
        assert words in line
        assert "rerun that command (only --trials may change)" in line


def test_trials_that_fail_are_listed(spec: Path) -> None:
    question = ["--over", "queues.mark=2 packets:180 packets", "--minimize", FCT, "--seeds", "1"]
    done = tune(*question, "--trials", "8", "--workers", "1", cwd=spec.parent)
    assert done.code == 0, done
    failed = done.document["failed"]
    table = pl.read_parquet(spec.parent / "out" / "trials.parquet")
    over = table.filter(pl.col("mark") > 100)
    assert 0 < len(over) < 8, "a mark above the limit of 100 packets is refused"
    assert [failure["trial"] for failure in failed] == over["trial"].to_list()
    assert all("queues" in failure["reason"] for failure in failed)
    assert over["objective"].null_count() == len(over)


def test_without_a_result(spec: Path) -> None:
    question = ["--over", "topology.delay=1us:5us", "--minimize", "avg(jct_s) FROM jobs"]
    line = tune(*question, "--trials", "2", "--workers", "1", cwd=spec.parent).complaint()
    assert "none of 2 trials has a result; the first: the objective is NULL or not finite at seed 1" in line


def test_query_that_fails_ends_the_tuning_at_its_first_run(spec: Path) -> None:
    question = ["--over", "topology.delay=1us:5us", "--minimize"]
    line = tune(*question, "fct_s FROM flows", "--workers", "1", cwd=spec.parent).complaint()
    assert "gives 4 rows" in line
    assert len(list((spec.parent / "out").rglob("manifest.json"))) < 8
    # No trial has ended, so that another question may follow.
    assert tune(*question, "max(fct_s) FROM flows", "--trials", "1", "--workers", "1", cwd=spec.parent).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--minimize, --maximize: none given"),
        (["--minimize", FCT, "--maximize", FCT], "both given"),
        (["--minimize", FCT], "0 fields to tune"),
        (["--minimize", "avg(fct_s FROM flows", *DELAY[:2]], "allowed: one number in SQL"),
        (["--minimize", "", *DELAY[:2]], "allowed: one number in SQL"),
        (["--minimize", "avg(x) FROM nowhere", *DELAY[:2]], "nowhere"),
        (["--minimize", FCT, "--over", "topology.nobody=1:2"], "topology.nobody"),
        (["--minimize", FCT, "--over", "transports.dctcp.cc.g=0.0001:2"], "transports.dctcp.cc.g"),
        (["--minimize", FCT, "--over", "transports.dctcp.cc.h=1:2"], "transports.dctcp.cc"),
        ([*DELAY, "--trials", "0"], "1 to 10000"),
        ([*DELAY, "--batch-size", "0"], "--batch-size"),
        ([*DELAY, "--seeds", "1001"], "1 to 1000"),
        ([*DELAY, "--set", "seed=9223372036854775807"], "seed"),
        ([*DELAY, "--cluster", "slurm"], "--workers N is missing"),
        ([*DELAY, "--out", "incast.toml"], "cannot create"),
        ([*DELAY, "--out", "."], "not the folder of a tune"),
    ],
)
def test_bad_input(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(spec.parent)
    assert run_command(lambda: cli.app(["tune", spec.name, *arguments], standalone_mode=False)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert words in shown.err
    assert [path.name for path in spec.parent.rglob("*.parquet")] == []
