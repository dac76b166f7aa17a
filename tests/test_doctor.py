"""`weft doctor` and `weft completion`."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from tests.command import WEFT, weft
from weft import __version__, doctor
from weft.exit_codes import BUG, MISSING, describe

BASH = shutil.which("bash")


def test_doctor_lists_installed_packages(tmp_path: Path) -> None:
    done = weft("doctor", "--json", cwd=tmp_path)
    assert done.code == 0, done
    found = {row["what"]: row for row in done.document}
    assert found["simulator"]["state"] == "ok"
    assert found["Python packages"]["state"] == "ok"
    assert all(row["fix"] for row in done.document if row["state"] != "ok")
    assert (found["tshark"]["state"] == "ok") == (shutil.which("tshark") is not None)
    shown = weft("doctor", cwd=tmp_path)
    assert shown.code == 0
    assert __version__ in shown.out


def test_doctor_names_broken_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "TINY", "name = 3")
    requirements = ["polars>=1", "rich>=999", "nobody", 'else; extra == "x"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _name: requirements)
    monkeypatch.setenv("WEFTD", str(tmp_path / "weftd"))
    found = {value.what: value for value in doctor.examine()}
    assert found["simulator"].state == "error"
    packages = found["Python packages"]
    assert packages.state == "error"
    assert packages.detail == f"rich {metadata.version('rich')} instead of rich>=999; no nobody"
    assert packages.fix == "pip install 'rich>=999' nobody"
    assert found["weftd"].state == "warning"


def test_doctor_names_the_packages_of_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "matplotlib":
            raise metadata.PackageNotFoundError(name)
        return "5.0"

    monkeypatch.setattr("importlib.metadata.version", version)
    needed = ['matplotlib>=3; extra == "reproduce"', 'optuna>=5; extra == "tune"', 'pandas>=9; extra == "pandas"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _name: needed)
    found = {value.what: value for value in doctor.examine()}
    assert found["reproduce"].state == "warning"
    assert found["reproduce"].detail == "needed for weft reproduce and weft demo: no matplotlib>=3"
    assert found["reproduce"].fix == "pip install 'matplotlib>=3'"
    assert found["tune"].detail == "optuna 5.0"
    assert found["pandas"].detail == "needed for result.to_pandas(): pandas 5.0 instead of pandas>=9"
    assert {"report", "reproduce", "tune", "cluster", "slurm", "pandas"} <= set(found)


def test_an_error_next_to_wrong_versions_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a package that is too old is not reported as a bug in Weft, but with the command that helps."""
    error = TypeError("unexpected keyword argument")
    assert describe(error)[1] == BUG
    monkeypatch.setattr("importlib.metadata.requires", lambda _name: ["rich>=999"])
    there = metadata.version("rich")
    assert describe(error) == (f"rich {there} instead of rich>=999; run: pip install 'rich>=999'", MISSING)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(tmp_path: Path, shell: str) -> None:
    done = weft("completion", shell, cwd=tmp_path)
    assert done.code == 0
    assert "_WEFT_COMPLETE" in done.out
    assert weft("completion", "csh", cwd=tmp_path).complaint()


@pytest.mark.skipif(BASH is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("weft re", {"reproduce"}),
        ("weft reproduce amp/fig1", {"amp/fig10", "amp/fig14"}),
        ("weft run --thr", {"--threads"}),
    ],
)
def test_bash_completes(tmp_path: Path, line: str, expected: set[str]) -> None:
    script = weft("completion", "bash", cwd=tmp_path).out
    words = line.split()
    program = f"""{script}
COMP_WORDS=({line})
COMP_CWORD={len(words) - 1}
_weft_completion weft
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    path = f"{Path(WEFT).parent}:{os.environ['PATH']}"
    assert BASH is not None
    done = subprocess.run([BASH, "-c", program], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert expected <= set(done.stdout.split()), done
