"""The output of `weft run` about a run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import weft
from tests.command import INCAST
from tests.command import weft as command
from weft import summary


def flows() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "transport": ["amp", "amp", "amp", "tcp"],
            "fct_s": [0.001, 0.003, None, None],
            "goodput_bps": [1e9, 3e9, 2e9, 5e8],
            "timeouts": [0, 2, 1, 0],
            "suppressions": [1, 1, 0, 0],
        }
    )


def test_a_row_per_transport() -> None:
    amp, tcp = summary.by_transport(flows()).to_dicts()
    assert amp["mean FCT (ms)"] == pytest.approx(2.0)
    assert amp["p99 FCT (ms)"] == pytest.approx(2.98)
    del amp["mean FCT (ms)"], amp["p99 FCT (ms)"]
    assert amp == {
        "transport": "amp",
        "flows": 3,
        "unfinished": 1,
        "p50 FCT (ms)": 2.0,
        "mean goodput (Mbps)": 2000.0,
        "least goodput (Mbps)": 1000.0,
        "flows with a timeout": 2,
        "suppressions": 2,
    }
    assert (tcp["unfinished"], tcp["mean FCT (ms)"]) == (1, None)


def test_the_table_has_a_column_per_transport() -> None:
    headings, rows = summary.table(flows())
    assert headings == ("transport", "amp", "tcp")
    assert rows[1] == ("unfinished", 1, 1)
    assert rows[2] == ("mean FCT (ms)", pytest.approx(2.0), "-")
    assert summary.table(flows().clear()) == (("transport",), [])


def test_columns_that_a_level_lacks_are_absent() -> None:
    assert "suppressions" not in summary.by_transport(flows().drop("suppressions")).columns


def test_the_command_prints_the_numbers_of_the_tables(tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    results = command("run", "incast.toml", "--out", "out", "--json", cwd=tmp_path).document["results"]
    read = weft.Result.read(tmp_path / "out")
    assert sum(row["flows"] for row in results["by_transport"]) == len(read.flows)
    assert results["totals"]["drops"] == read.links["drops"].sum()
    printed = command("run", "incast.toml", "--out", "again", cwd=tmp_path).out
    assert "mean FCT (ms)" in printed
    assert f"{results['totals']['marks']:,} packets marked" in printed


def test_the_command_prints_the_reasons_of_drops(tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    full = ("--set", "queues.limit=3 packets", "--set", "queues.mark=off")
    results = command("run", "incast.toml", *full, "--out", "out", "--json", cwd=tmp_path).document["results"]
    dropped = results["totals"]["drops"]
    assert results["drops_by_reason"] == {"limit": dropped} != {"limit": 0}
    printed = command("run", "incast.toml", *full, "--out", "again", cwd=tmp_path).out
    assert f"  Packets dropped or lost by reason: limit {dropped:,}; see docs/how-to/packets.md\n" in printed
    printed = command("run", "incast.toml", "--out", "none", cwd=tmp_path).out
    assert ("by reason" in printed) == bool(weft.Result.read(tmp_path / "none").links["drops"].sum())


def test_tables_that_a_level_lacks_are_named(tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    line = "  Not modelled at level flow: flows with a timeout, suppressions, packets dropped, packets marked"
    for level, lines in (("flow", [line]), ("packet", [])):
        done = command("run", "incast.toml", "--set", f"level={level}", "--out", level, cwd=tmp_path)
        assert done.code == 0, done
        assert [shown for shown in done.out.splitlines() if "Not modelled" in shown] == lines


def test_the_numbers_need_no_other_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of ten million messages has gigabytes of columns that its summary does not show."""
    (tmp_path / "incast.toml").write_text(INCAST)
    weft.run(tmp_path / "incast.toml", out=tmp_path / "out")
    result = weft.Result.read(tmp_path / "out")
    whole = pl.read_parquet(tmp_path / "out" / "flows.parquet")
    read = list[list[str]]()
    read_parquet = pl.read_parquet

    def remember(file: Path, *, columns: list[str]) -> pl.DataFrame:
        read.append(columns)
        return read_parquet(file, columns=columns)

    monkeypatch.setattr(pl, "read_parquet", remember)
    assert summary.by_transport(summary.flows_of(result)).equals(summary.by_transport(whole))
    assert read == [[name for name in whole.columns if name in summary.COLUMNS]]
    assert result.table("flows", ["fct_s", "no such column"]).equals(whole.select("fct_s"))
