"""Commands and paths that the documents name exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import draw_pictures
from tests.command import weft
from weft import _weft
from weft.bench import SCENARIOS
from weft.papers import FIGURES

MAKE = shutil.which("make") or "make"
ROOT = Path(__file__).parent.parent
PAGES = sorted(
    file for folder in ("docs", "research") for kind in ("*.md", "*.ipynb") for file in (ROOT / folder).rglob(kind)
)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
COMMANDS = {
    "run",
    "sweep",
    "tune",
    "report",
    "trace",
    "list",
    "schema",
    "doctor",
    "completion",
    "reproduce",
    "demo",
    "bench",
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_make_targets(document: Path) -> None:
    shown = subprocess.run([MAKE], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {line.split()[1] for line in shown.splitlines()}
    named = set(re.findall(r"`make ([a-z-]+)`", document.read_text()))
    named |= set(re.findall(r"^make ([a-z-]+)", document.read_text(), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_weft_commands(document: Path) -> None:
    lines = re.findall(r"(?:`|^(?:\.venv/bin/)?)weft ([a-z].*?)(?:`|$)", document.read_text(), re.MULTILINE)
    names = {name for figure in FIGURES for name in (figure.name, figure.paper)}
    for line in lines:
        words = line.split()
        assert words[0] in COMMANDS, line
        if words[0] == "reproduce":
            assert names & set(words) or {"--list", "--headlines", "PAPER", "PAPER/FIGURE"} & set(words), line
        if words[0] == "bench":
            scenarios = [word for word in words[1:] if not word.startswith("-") and not word.isdigit()]
            assert set(scenarios) <= {*SCENARIOS, "[SCENARIO…]"}, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_places(document: Path) -> None:
    text = document.read_text()
    # Entries of the notebook keep the paths of their day.
    dated = document.parent.name == "notebook"
    paths = set() if dated else set(re.findall(r"`((?:crates|python|tests|docs|requirements)/[\w./-]+)`", text))
    links = set(re.findall(r"\]\(([^)#:]+)\)", text))
    missing = [path for path in paths if not (ROOT / path).exists() and not re.search("[A-Z]{4}", path)]
    missing += [link for link in links if not (document.parent / link).exists()]
    assert missing == []


def test_every_command_has_help(tmp_path: Path) -> None:
    for command in COMMANDS:
        assert weft(command, "--help", cwd=tmp_path).code == 0


PROFILES = [listing["name"] for listing in json.loads(_weft.registry())["profiles"]]
ONE_FLOW = """
name = "one"
duration = "1ms"
topology = { kind = "many-to-one", senders = 1, rate = "1Gbps", delay = "1us" }
queues = { limit = "10 packets" }
transports.one = { cc = "reno", profile = "PROFILE" }
traffic = [{ kind = "bulk", transport = "one", from = "h0", to = "r0" }]
"""


def test_values_of_profiles() -> None:
    """The page on the transport has each field of a profile, with its values."""
    page = (ROOT / "docs" / "explanation" / "transport.md").read_text()
    specs = [json.loads(_weft.Experiment.parse(ONE_FLOW.replace("PROFILE", profile)).spec()) for profile in PROFILES]
    fields = [
        spec["transports"]["one"]["tcp"] | {f"hosts.{key}": value for key, value in spec["hosts"].items()}
        for spec in specs
    ]
    rows = set()
    for field in fields[0]:
        found = [values[field] for values in fields]
        texts = [value if isinstance(value, str) else json.dumps(value) for value in found]
        rows.add(f"| `{field}` | {' | '.join(texts)} |")
    values = page.partition("## Values")[2]
    assert rows == {line for line in values.splitlines() if line.startswith("| `")}


def test_pictures() -> None:
    """Each picture that can be drawn is in the repository and on a page, and no other one is."""
    drawn = {f"{name}.svg" for name, _ in draw_pictures.names()}
    kept = {path.relative_to(draw_pictures.PICTURES).as_posix() for path in draw_pictures.PICTURES.rglob("*.svg")}
    shown = {name for page in DOCUMENTS for name in re.findall(r"pictures/([\w./-]+\.svg)\)", page.read_text())}
    assert drawn == kept == shown
