"""`weft doctor` and `weft completion`."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from tests.command import WEFT, weft
from weft import _weft, doctor

BASH = shutil.which("bash")


def test_doctor_finds_what_there_is(tmp_path: Path) -> None:
    done = weft("doctor", "--json", cwd=tmp_path)
    assert done.code == 0, done
    found = {row["what"]: row for row in done.document}
    assert found["simulator"]["state"] == "ok"
    assert found["Python packages"]["state"] == "ok"
    assert all(row["fix"] for row in done.document if row["state"] != "ok")
    assert (found["tshark"]["state"] == "ok") == (shutil.which("tshark") is not None)
    shown = weft("doctor", cwd=tmp_path)
    assert shown.code == 0
    assert _weft.__version__ in shown.out


def test_doctor_says_what_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "TINY", "name = 3")
    monkeypatch.setattr("importlib.metadata.requires", lambda _name: ["polars", "nobody", 'else; extra == "x"'])
    monkeypatch.setenv("WEFTD", str(tmp_path / "weftd"))
    found = {value.what: value for value in doctor.examine()}
    assert found["simulator"].state == "error"
    assert found["Python packages"].detail == "missing: nobody"
    assert found["weftd"].state == "warning"


def test_doctor_names_the_packages_of_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "matplotlib":
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("importlib.metadata.version", version)
    found = {value.what: value for value in doctor.examine()}
    assert found["reproduce"].state == "warning"
    assert found["reproduce"].detail == "needed for weft reproduce and weft demo: no matplotlib"
    assert found["reproduce"].fix == "pip install matplotlib"
    assert found["tune"].detail == "optuna 1.0"
    assert {"report", "reproduce", "tune", "cluster", "slurm", "pandas"} <= set(found)


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
