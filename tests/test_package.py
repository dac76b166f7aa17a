"""The wheel in an environment without Rust, and what the packed sources contain; `make package` makes both."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import generate_manual
from tests.command import INCAST
from tests.test_docs import COMMANDS

ROOT = Path(__file__).parent.parent
WHEELS = ROOT / "target" / "wheels"
PYTHON = str(Path(sys.executable).resolve())
"""The interpreter outside of all environments."""


def pythons() -> list[str]:
    """The usable Pythons of this machine, the newest version first, on PATH or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    usable = []
    for minor in (14, 13, 12, 11):
        found = sorted(map(str, pyenv.glob(f"3.{minor}.*/bin/python3.{minor}")))
        for python in (f"python3.{minor}", *found):
            try:
                subprocess.run([python, "-c", "import ensurepip, venv"], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                continue  # such as a shim of pyenv without a version
            usable.append(python)
            break
    return usable


def another_python() -> str | None:
    """The newest usable Python of another version than this one."""
    this = f"python3.{sys.version_info.minor}"
    return next((python for python in pythons() if Path(python).name != this), None)


def packed(pattern: str) -> Path:
    found = list(WHEELS.glob(pattern))
    if not found:
        pytest.skip("nothing is packed: make package")
    (file,) = found
    return file


@pytest.fixture
def wheel() -> Path:
    return packed("weft_sim-*.whl")


@pytest.fixture
def sources() -> Path:
    return packed("weft_sim-*.tar.gz")


def version_of(wheel: Path) -> str:
    """The build that a wheel names."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read("weft/version.txt").decode("ascii").strip()


def clean(folder: Path) -> dict[str, str]:
    """An environment in which no compiler is found, and nothing of this one."""
    variables = {"PATH": str(folder / "bin"), "HOME": str(folder), "LANG": "C.UTF-8"}
    for name, cache in (("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv")):
        if name in os.environ or "HOME" in os.environ:
            variables[name] = os.environ.get(name, str(Path.home() / ".cache" / cache))
    assert all(shutil.which(tool, path=variables["PATH"]) is None for tool in ("cargo", "rustc", "cc"))
    return variables


def call(*command: str | Path, cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(wheel: Path, folder: Path, python: str = PYTHON) -> dict[str, str]:
    """A new environment with the wheel and the pinned versions of what it depends on."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    env, pip = clean(folder), (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check")
    locked = ("--quiet", "--require-hashes", "-r", ROOT / "requirements" / "run.lock")
    uv = (Path(sys.executable).parent / "uv", "pip", "install", "--system-certs", "--compile-bytecode")
    call(*uv, "--python", folder / "bin" / "python", *locked, cwd=folder, env=env)
    call(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder, env=env)
    call(*pip, "check", cwd=folder, env=env)
    return env


def test_wheel_works_without_rust(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clean"
    env = install(wheel, folder)
    weft = folder / "bin" / "weft"
    assert call(weft, "--version", cwd=tmp_path, env=env) == f"weft {version_of(wheel)}\n"
    call(weft, "doctor", cwd=tmp_path, env=env)
    call(weft, "demo", "--out", "demo", cwd=tmp_path, env=env)
    assert {"index.html", "report.html", "incast.png"} <= {file.name for file in (tmp_path / "demo").iterdir()}
    imported = call(folder / "bin" / "python", "-c", "import weft; print(weft.__file__)", cwd=tmp_path, env=env)
    assert Path(imported.strip()).is_relative_to(folder)
    assert (folder / "share" / "man" / "man1" / "weft-run.1").exists()


def test_wheel_works_with_another_python(wheel: Path, tmp_path: Path) -> None:
    python = another_python()
    if python is None:
        pytest.skip(f"no other Python from 3.11 on than {sys.version_info.major}.{sys.version_info.minor}")
    folder = tmp_path / "other"
    env = install(wheel, folder, python)
    (tmp_path / "incast.toml").write_text(INCAST)
    version = call(folder / "bin" / "python", "--version", cwd=tmp_path, env=env).split()[1]
    assert version.split(".")[:2] != [str(part) for part in sys.version_info[:2]]
    weft = (folder / "bin" / "python", "-W", "error", "-m", "weft")
    assert f"Python {version}" in call(*weft, "doctor", cwd=tmp_path, env=env)
    call(*weft, "sweep", "incast.toml", "--seeds", "2", "--out", "sweep", cwd=tmp_path, env=env)
    call(*weft, "report", "sweep", "-o", "report.html", cwd=tmp_path, env=env)
    tuning = ("--over", "topology.delay=1us:9us", "--minimize", "avg(fct_s) FROM flows", "--trials", "2")
    call(*weft, "tune", "incast.toml", *tuning, "--out", "tuned", cwd=tmp_path, env=env)


def test_wheel_is_for_any_python_from_3_11_on(wheel: Path) -> None:
    name, version, python, abi, platform = wheel.stem.split("-")
    assert (name, python, abi) == ("weft_sim", "cp311", "abi3")
    assert version == generate_manual.version()
    assert version_of(wheel).startswith(version.partition(".dev")[0])
    assert re.fullmatch(r"(many)?linux_(2_\d+_)?x86_64", platform)
    with zipfile.ZipFile(wheel) as packed_:
        names = packed_.namelist()
    for file in (
        "weft/_weft.abi3.so",
        "weft/_weft.pyi",
        "weft/py.typed",
        "weft/templates/report.js",
        "weft_papers/amp/fig02.py",
        "weft_papers/uet/scenarios.csv",
        "weft_papers/uet/matrices/incast.csv",
    ):
        assert file in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"weft", "weft_papers", "weft_sim"}
    assert sum(name.endswith(".so") for name in names) == 1


def test_an_index_page_shows_the_whole_description(wheel: Path) -> None:
    """It has no links to files, which would lead nowhere from the page of a package index."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    description = str(metadata.get_payload())
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert description.strip() == (ROOT / "python" / "description.md").read_text().strip()
    assert not re.findall(r"\]\((?!https:)", description)


def test_sources_are_complete(sources: Path, tmp_path: Path) -> None:
    with tarfile.open(sources) as archive:
        archive.extractall(tmp_path, filter="data")
    (top,) = tmp_path.iterdir()
    files = {str(file.relative_to(top)) for file in top.rglob("*") if file.is_file()}
    python = (
        file for file in (ROOT / "python").rglob("*.*") if file.suffix in {".py", ".pyi", ".html", ".js", ".1", ".csv"}
    )
    assert {str(file.relative_to(ROOT)) for file in python if file.parent != ROOT / "python"} <= files
    assert {"Cargo.lock", "LICENSE", "PKG-INFO", "pyproject.toml", ".cargo/config.toml"} <= files
    assert "python/description.md" in files
    assert {"python/build_weft.py", "python/weft/version.txt"} <= files
    assert not any(file.startswith(("target/", "out/", ".venv/")) or file.endswith(".so") for file in files)
    # Cargo misses no crate, and drops from Cargo.lock what only weftd needs; nothing gets another version.
    before = locked(top)
    cargo = shutil.which("cargo")
    assert cargo is not None
    metadata = [cargo, "metadata", "--offline", "--format-version=1"]
    subprocess.run(metadata, cwd=top, check=True, capture_output=True)
    assert locked(top) < before
    assert {"weft-py", "weft-lab", "weft-bpf"} <= {name for name, _ in locked(top)}


def locked(folder: Path) -> set[tuple[str, str]]:
    """Names and versions in `Cargo.lock`."""
    packages = tomllib.loads((folder / "Cargo.lock").read_text())["package"]
    return {(package["name"], package["version"]) for package in packages}


def test_manual_pages_are_the_commands() -> None:
    pages = {file.name: file.read_text() for file in generate_manual.PAGES.iterdir()}
    assert pages == generate_manual.generate(), "run `make generate`"
    assert {f"weft-{command}.1" for command in COMMANDS} | {"weft.1"} == set(pages)
    man = shutil.which("man")
    for name in pages if man else ():
        command = [str(man), "--warnings", "--local-file", str(generate_manual.PAGES / name)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C.UTF-8"}
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_citation_has_the_version_of_the_last_release() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    fields = dict(re.findall(r"^([a-z-]+): *(.*)$", citation, re.MULTILINE))
    assert {"cff-version", "message", "title", "authors", "type", "license"} <= set(fields)
    released = re.findall(r"^## (\d+\.\d+\.\d+) - ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert fields["version"] == released[0]


@pytest.mark.skipif("WEFT_BUILD_SDIST" not in os.environ, reason="compiles everything: make test-sdist")
def test_sources_build(sources: Path, tmp_path: Path) -> None:
    pip = (PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(sources))
    subprocess.run(pip, check=True, cwd=tmp_path)
    (built,) = tmp_path.glob("weft_sim-*.whl")
    test_wheel_works_without_rust(built, tmp_path)
