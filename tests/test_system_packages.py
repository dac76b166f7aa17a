"""System packages are listed before they are installed; whatever cannot be installed is skipped by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "requirements" / "system.sh"
TOOLS = ("bash", "env", "flock")
GROUPS = ("base", "linux", "emulator", "package", "ns3", "simgrid", "browser", "tshark", "valgrind")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with the only programs that are found: those that the script itself needs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    (tmp_path / "include").mkdir()
    return tmp_path


def add(machine: Path, name: str, script: str = "exit 0") -> None:
    program = machine / "bin" / name
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)


def call(machine: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(machine / "bin"), "INCLUDE": str(machine / "include")}
    return subprocess.run(
        [SCRIPT, *arguments], env=env, cwd=machine, capture_output=True, text=True, check=False, timeout=60
    )


def python(machine: Path, name: str, *, works: bool = True) -> None:
    add(machine, name, "exit 0" if works else "exit 1")


def test_the_newest_python_is_chosen(machine: Path) -> None:
    done = call(machine, "python")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("no Python from 3.11 on that has venv; run: sudo apt-get install python3 python3-venv\n")
    for name in ("python3", "python3.11", "python3.9"):
        python(machine, name)
    assert call(machine, "python").stdout == "python3.11\n"
    python(machine, "python3.13")
    python(machine, "python3.14", works=False)  # such as a shim of pyenv, or one without venv
    assert call(machine, "python").stdout == "python3.13\n"


def test_a_python_of_another_name_is_checked(machine: Path) -> None:
    (machine / "bin" / "python3").symlink_to(sys.executable)
    assert call(machine, "python").stdout == "python3\n"


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_a_purpose(machine: Path, group: str) -> None:
    add(machine, "id", "echo 1000")
    line = call(machine, "list", group).stdout.splitlines()
    if group == "emulator" or len(line) == 2:  # /bin/busybox may be there
        assert ": for " in line[1]
        assert not line[1].endswith(": for ")


def test_without_root_the_groups_are_named(machine: Path) -> None:
    add(machine, "id", "echo 1000")
    add(machine, "pkg-config")
    (machine / "include" / "zlib.h").touch()
    listed = call(machine, "list", "linux", "tshark")
    assert listed.returncode == 0
    assert listed.stdout == (
        "Missing system packages; what they are for is skipped. To install them: sudo apt-get install PACKAGE...\n"
        "  clang libelf-dev: for weftd and its tests\n"
        "  tshark: for tests of traces\n"
    )
    asked = call(machine, "install", "linux")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr == (
        "Missing system packages:\n"
        "  clang libelf-dev: for weftd and its tests\n"
        "To install them: sudo apt-get install clang libelf-dev\n"
    )


def test_root_sees_the_list_before_the_installation(machine: Path) -> None:
    add(machine, "id", "echo 0")
    add(machine, "apt-get", 'echo "$@" >>calls; if [ "$1" = install ]; then ln -s /bin/true bin/tshark; fi')
    (machine / "bin" / "ln").symlink_to(shutil.which("ln") or "")
    done = call(machine, "install", "tshark")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Installing system packages:\n  tshark: for tests of traces\n"
    assert (machine / "calls").read_text() == "update -qq\ninstall -y -qq --no-install-recommends tshark\n"
    assert call(machine, "install", "tshark").stdout == ""


def test_an_installation_that_fails_is_told(machine: Path) -> None:
    add(machine, "id", "echo 0")
    add(machine, "apt-get", "exit 100")
    done = call(machine, "install", "tshark")
    assert done.returncode == 1
    assert done.stderr.endswith("To install them: sudo apt-get install tshark\n")


@pytest.mark.parametrize("arguments", [["install", "moon"], ["list", "moon"], ["fly"], []])
def test_wrong_arguments(machine: Path, arguments: list[str]) -> None:
    add(machine, "id", "echo 1000")
    done = call(machine, *arguments)
    assert done.returncode == 2
    assert "; allowed: " in done.stderr


def dry_run(target: str, stamps: Path, kernel_tests: str) -> str:
    """Returns the commands of a target's tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", target, f"STAMPS={stamps}", f"PYTHON={sys.executable}"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"WEFT_KERNEL_TESTS": kernel_tests},
        capture_output=True,
        text=True,
        check=True,
    )
    # Each recipe starts with what replaces it, if anything does.
    return "\n".join(line for line in done.stdout.splitlines() if "cargo test" in line)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize("target", ["test-rust", "test-this-kernel", "test-debians-kernels"])
def test_without_clang_only_the_tests_of_weftd_are_skipped(tmp_path: Path, target: str) -> None:
    without = dry_run(target, tmp_path, "")
    assert "--exclude weft-kernel --exclude weftd" in without
    assert ("Skipped: tests of weftd" in without) == (target != "test-rust")
    (tmp_path / "linux").touch()
    assert "--exclude weftd" not in dry_run(target, tmp_path, "")
    assert "Skipped" not in dry_run(target, tmp_path, "")


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize("target", ["test-this-kernel", "test-debians-kernels", "test-shares"])
def test_without_clang_the_tests_of_weftd_fail_if_they_are_required(tmp_path: Path, target: str) -> None:
    recipe = next(line for line in dry_run(target, tmp_path, "required").splitlines() if "cannot be built" in line)
    ended = subprocess.run(recipe, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S602
    assert ended.returncode == 1
    assert ended.stderr.startswith("tests of weftd cannot run")
    (tmp_path / "linux").touch()
    assert "cannot be built" not in dry_run(target, tmp_path, "required")
