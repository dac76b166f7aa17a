"""A folder of results is complete or not there at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import OutputError
from weft.output import PREFIX, choose_folder, new_folder


def test_given_folder_must_not_exist(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="exists already"):
        choose_folder(tmp_path, "weft-demo")


def test_default_never_meets_an_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for expected in ("weft-demo", "weft-demo-2", "weft-demo-3"):
        folder = choose_folder(None, "weft-demo")
        assert folder == Path(expected)
        folder.mkdir()


@given(st.text())
def test_default_is_one_plain_name(name: str) -> None:
    folder = choose_folder(None, f"weft-{name}")
    assert len(folder.parts) == 1
    assert folder.name.startswith("weft")
    assert len(folder.name.encode()) <= 255


def test_place_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot create"):
        choose_folder(tmp_path / "file" / "results", "weft-demo")


def test_appears_when_complete(tmp_path: Path) -> None:
    wanted = tmp_path / "deep" / "results"
    with new_folder(wanted) as unfinished:
        (unfinished / "table").write_text("rows")
        assert not wanted.exists()
    assert [path.name for path in wanted.parent.iterdir()] == ["results"]
    assert (wanted / "table").read_text() == "rows"


def test_vanishes_when_not(tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_folder(tmp_path / "results") as unfinished:
            (unfinished / "table").write_text("rows")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_writes_go_to_its_own_folder_although_a_link_takes_its_place(tmp_path: Path) -> None:
    victim, parent = tmp_path / "victim", tmp_path / "shared"
    victim.mkdir()
    (victim / "manifest.json").write_text("precious")
    with new_folder(parent / "out") as unfinished:
        (staged,) = parent.glob(f"{PREFIX}*")
        staged.rename(parent / "moved")
        staged.symlink_to(victim)
        (unfinished / "manifest.json").write_text("new")
    assert (victim / "manifest.json").read_text() == "precious"
    assert (parent / "moved" / "manifest.json").read_text() == "new"


MANY = """
import sys
from pathlib import Path
from weft.output import new_folder

for n in range(500):
    with new_folder(Path(sys.argv[1], f"{sys.argv[2]}-{n}")):
        pass
"""


def test_folders_that_begin_at_once_do_not_remove_each_other(tmp_path: Path) -> None:
    """Runs that end in the same parent begin while others remove what was abandoned there."""
    processes = [subprocess.Popen([sys.executable, "-c", MANY, tmp_path, str(n)]) for n in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert len(list(tmp_path.iterdir())) == 4 * 500
