"""Commands work with the packages of their extra alone, and name the packages that they lack."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.command import INCAST
from weft.extras import EXTRAS, MODULES, PURPOSES

ROOT = Path(__file__).parent.parent
HEAVY = {"altair", "distributed", "jinja2", "matplotlib", "numpy", "optuna", "pandas", "pyarrow", "vl_convert"}
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
sys.argv = ["weft", *sys.argv[2:]]
from weft import cli
cli.main()
"""
"""Runs the command without some modules."""
TUNE = ("tune", "incast.toml", "--over", "topology.delay=1us:9us", "--minimize", "avg(fct_s) FROM flows")


def weft(absent: set[str], *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, ",".join(sorted(absent)), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec and a run of it."""
    folder = tmp_path_factory.mktemp("extras")
    (folder / "incast.toml").write_text(INCAST)
    done = weft(HEAVY, "run", "incast.toml", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_extras_are_those_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras.pop("all") == ["weft-sim[report,reproduce,tune]"]
    needed = {name: [Requirement(package) for package in packages] for name, packages in extras.items()}
    assert {name: tuple(package.name for package in packages) for name, packages in needed.items()} == EXTRAS
    assert set(PURPOSES) == set(EXTRAS)
    assert set(MODULES) <= {package for packages in EXTRAS.values() for package in packages}
    always = [Requirement(package) for package in project["dependencies"]]
    assert {"polars", "pydantic"} <= {package.name for package in always}
    # Every requirement has a lowest version, with which `make test-versions` runs the commands.
    for package in [*always, *(package for packages in needed.values() for package in packages)]:
        assert any(bound.operator == ">=" for bound in package.specifier), package


@pytest.mark.parametrize(
    ("needed", "arguments"),
    [
        (set(), ("sweep", "incast.toml", "--seeds", "2", "--out", "sweep")),
        (set(), ("trace", "incast.toml", "--at", "s0", "--out", "packets")),
        (set(), ("list",)),
        (set(), ("doctor",)),
        (set(), ("reproduce", "--list")),
        ({"altair", "jinja2", "vl_convert"}, ("report", "run", "-o", "report.html")),
        ({"numpy", "optuna"}, (*TUNE, "--trials", "1", "--seeds", "1", "--out", "tuned")),
    ],
)
def test_command_with_its_extra_alone(folder: Path, needed: set[str], arguments: tuple[str, ...]) -> None:
    done = weft(HEAVY - needed, *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("report", "run"),
            "weft report: needs altair, jinja2, vl-convert-python; run: pip install altair jinja2 vl-convert-python",
        ),
        (TUNE, "weft tune: needs optuna; run: pip install optuna"),
        (
            ("reproduce", "amp/fig08", "--quick"),
            "weft reproduce: needs jinja2, matplotlib; run: pip install jinja2 matplotlib",
        ),
        (
            ("demo",),
            "weft demo: needs altair, jinja2, vl-convert-python, matplotlib; "
            "run: pip install altair jinja2 vl-convert-python matplotlib",
        ),
    ],
)
def test_command_without_its_extra(folder: Path, arguments: tuple[str, ...], line: str) -> None:
    before = {path.name for path in folder.iterdir()}
    done = weft(HEAVY, *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (3, f"weft: {line}\n")
    assert {path.name for path in folder.iterdir()} == before
