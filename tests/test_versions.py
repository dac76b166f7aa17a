"""The oldest and the newest versions that Weft allows run its commands, and old and new readers read its results.

These tests make environments of their own with packages from an index: `make test-versions`, a part of `make nightly`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.command import INCAST
from tests.test_package import WHEELS, call, clean, pythons

UV = str(Path(sys.executable).parent / "uv")

pytestmark = pytest.mark.skipif("WEFT_VERSIONS" not in os.environ, reason="installs many versions: make test-versions")

RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
READERS = {
    "polars": ("polars==1.0.0", "polars"),
    "pyarrow": ("pyarrow==12.0.0 numpy<2", "pyarrow"),
    "duckdb": ("duckdb==0.8.1", "duckdb"),
    "fastparquet": ("fastparquet==2023.10.0 pandas==2.0.0 numpy<2", "fastparquet"),
    "pandas": ("pandas==1.5.3 pyarrow==12.0.0 numpy<2", "pandas pyarrow"),
}
"""The oldest version that reads the tables, as found by trying in Python 3.11, and the newest one."""

READ = """
import importlib, json, sys
name, *files = sys.argv[1:]
module = importlib.import_module(name)
for file in files:
    if name == "polars":
        table = module.read_parquet(file).to_dict(as_series=False)
    elif name == "pyarrow":
        from pyarrow.parquet import read_table
        table = read_table(file).to_pydict()
    elif name == "duckdb":
        found = module.sql(f"SELECT * FROM '{file}'")
        rows = found.fetchall()
        table = {column: [row[i] for row in rows] for i, column in enumerate(found.columns)}
    else:
        frame = module.ParquetFile(file).to_pandas() if name == "fastparquet" else module.read_parquet(file)
        table = {column: frame[column].tolist() for column in frame.columns}
    sums = {column: sum(value for value in values if isinstance(value, float) and value == value)
            for column, values in table.items()}
    print(json.dumps([len(next(iter(table.values()))), sums]))
"""
"""Prints the number of rows of each file, and the sum of each column of floats."""


def environment(folder: Path, python: str, *packages: str) -> dict[str, str]:
    """A new environment with packages from the index."""
    subprocess.run([UV, "venv", "--quiet", "--python", python, folder], check=True)
    env = clean(folder)
    install = (UV, "pip", "install", "--quiet", "--system-certs", "--python", folder / "bin" / "python")
    call(*install, *packages, cwd=folder, env=env)
    return env


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All tables of a run and of a sweep."""
    folder = tmp_path_factory.mktemp("results")
    weft = Path(sys.executable).parent / "weft"
    spec = folder / "incast.toml"
    spec.write_text(INCAST)
    for command in (("run", spec, "--out", "run"), ("sweep", spec, "--seeds", "2", "--out", "sweep")):
        subprocess.run([weft, *command], cwd=folder, check=True, capture_output=True)
    return sorted(folder.rglob("*.parquet"))


@pytest.mark.parametrize("age", [0, 1], ids=["oldest", "newest"])
@pytest.mark.parametrize("reader", READERS)
def test_results_are_read(results: list[Path], tmp_path: Path, reader: str, age: int) -> None:
    env = environment(tmp_path / "reader", sys.executable, *READERS[reader][age].split())
    printed = call(tmp_path / "reader" / "bin" / "python", "-c", READ, reader, *results, cwd=tmp_path, env=env)
    found = [json.loads(line) for line in printed.splitlines()]
    tables = [pl.read_parquet(file) for file in results]
    assert len(found) == len(tables) > 20
    for table, (rows, sums) in zip(tables, found, strict=True):
        assert rows == table.height
        for column in table.columns:
            expected = table[column].drop_nulls().sum() if table.schema[column].is_float() else None
            assert expected is None or sums[column] == pytest.approx(expected)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("python", pythons(), ids=lambda python: Path(python).name)
def test_commands(tmp_path: Path, python: str, resolution: str) -> None:
    wheel = next(WHEELS.glob("weft_sim-*.whl"), None)
    if wheel is None:
        pytest.skip("nothing is packed: make package")
    folder = tmp_path / "environment"
    requirement = f"weft-sim[all,pandas,cluster] @ {wheel.as_uri()}"
    try:
        env = environment(folder, python, "--only-binary=:all:", f"--resolution={RESOLUTIONS[resolution]}", requirement)
    except AssertionError as error:
        # The oldest versions are older than the newest Python, and have no wheels for it.
        if resolution == "oldest" and re.search(r"no wheels with a matching Python|has no usable wheels", str(error)):
            pytest.skip(f"{Path(python).name} has no wheels of the oldest versions")
        raise
    (tmp_path / "incast.toml").write_text(INCAST)
    weft = (folder / "bin" / "python", "-m", "weft")
    for arguments in (
        ("doctor",),
        ("run", "incast.toml", "--out", "run"),
        ("sweep", "incast.toml", "--over", "queues.mark=10 packets,20 packets", "--seeds", "2", "--out", "sweep"),
        ("report", "run", "-o", "run.html"),
        ("report", "sweep", "-o", "sweep.html"),
        ("demo", "--out", "demo"),
        ("reproduce", "amp/fig02", "--quick", "--out", "figure"),
        ("completion", "bash"),
        (*TUNE, "--trials", "2", "--out", "tuned"),
    ):
        call(*weft, *arguments, cwd=tmp_path, env=env)
    flows = call(folder / "bin" / "python", "-c", PANDAS, cwd=tmp_path, env=env)
    assert int(flows) > 0
    mistyped = subprocess.run([*weft, "rnu"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert mistyped.returncode == 2
    assert mistyped.stderr.startswith("weft: No such command 'rnu'.")
    assert mistyped.stderr.count("\n") == 1


TUNE = ("tune", "incast.toml", "--over", "topology.delay=1us:9us", "--minimize", "avg(fct_s) FROM flows")
PANDAS = """
import weft
print(len(weft.run(weft.load("incast.toml")).to_pandas("flows")))
"""


def test_wheel_needs_the_glibc_of_rhel_8() -> None:
    (wheel,) = WHEELS.glob("weft_sim-*.whl")
    glibc = re.search(r"-manylinux_2_(\d+)_x86_64$", wheel.stem)
    assert glibc is not None
    assert int(glibc[1]) <= 28  # that of Debian 11 is 31
