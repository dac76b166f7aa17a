"""The pages on weftd name each setting, metric, alert and command, with the defaults of its configuration."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WEFTD = ROOT / "crates" / "weftd"
PAGES = ROOT / "docs" / "linux"


def rows(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, without its head."""
    text = (PAGES / page).read_text(encoding="utf-8")
    below = text.split(f"\n{heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table is not None, heading
    lines = table[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def defaults(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The settings of `weftd.toml` by their whole names."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= defaults(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def test_every_setting_has_its_default() -> None:
    expected = defaults(tomllib.loads((WEFTD / "packaging" / "weftd.toml").read_text(encoding="utf-8")))
    table = {codes(key)[0]: default for key, default, *_ in rows("configuration.md", "## Configuration file")}
    in_words = {
        "congestion.algorithms": "all ten",
        "congestion.default": "none",
        "congestion.parameters.NAME": "`{}`",
        "subflows.blackhole_reset": "none",
        "rules": "`[]`",
    }
    assert table.keys() == expected.keys() | in_words.keys()
    assert len(expected["congestion.algorithms"]) == 10
    for name, value in expected.items():
        if name not in in_words:
            assert tomllib.loads(f"value = {codes(table[name])[0]}")["value"] == value, name
    assert {name: table[name] for name in in_words} == in_words


def test_every_metric_is_listed() -> None:
    source = (WEFTD / "src" / "metrics.rs").read_text(encoding="utf-8").split("#[cfg(test)]")[0]
    arrays = "".join(re.findall(r"^const [A-Z]+: \[\(&str.*?\];", source, re.DOTALL | re.MULTILINE))
    counters = re.findall(r'counter\(\s*"(\w+)"', source) + re.findall(r'\(\s*"(\w+)",', arrays)
    others = re.findall(r'gauge\(\s*"(\w+)"', source) + re.findall(r'registry\.register\(\s*"(\w+)"', source)
    expected = {f"weft_{name}_total" for name in counters} | {f"weft_{name}" for name in others}
    expected = {f"{name}_info" if name == "weft_build" else name for name in expected}
    listed = [codes(name)[0] for name, *_ in rows("configuration.md", "## Metrics")]
    assert len(listed) == len(set(listed))
    assert set(listed) == expected


def test_every_alert_is_listed() -> None:
    rules = (WEFTD / "packaging" / "alerts.yml").read_text(encoding="utf-8")
    listed = [name for alerts, *_ in rows("monitor-and-upgrade.md", "## Collect metrics") for name in codes(alerts)]
    assert sorted(listed) == sorted(re.findall(r"alert: (\w+)", rules))


def test_every_command_is_listed() -> None:
    source = (WEFTD / "src" / "cli.rs").read_text(encoding="utf-8")
    commands = source.split("pub enum Command {")[1].split("\n}\n")[0]
    expected = {
        name.lower()
        for hidden, name in re.findall(r"(hide = true\)\]\s+)?^    (\w+)(?:\(| \{|,)", commands, re.MULTILINE)
        if not hidden
    }
    listed = {codes(command)[0].split()[1] for command, *_ in rows("configuration.md", "## Commands")}
    assert listed == expected


PLACEHOLDER = re.compile(r"\.\.\.|\bNAME\b|_NAME\b|\bN\b|/run/\S+|\d\S*")


def test_messages_of_the_tables_are_in_the_source() -> None:
    crates = (WEFTD, ROOT / "crates" / "weft-kernel")
    files = [path for crate in crates for path in sorted((crate / "src").rglob("*.rs"))]
    source = " ".join(path.read_text(encoding="utf-8") for path in files)
    source = re.sub(r"\\\n\s*", "", source).replace("`", "").replace('\\"', '"')
    text = (PAGES / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = [code for line in text.splitlines() if line.startswith("| ") for code in codes(line.split(" | ")[0])]
    quoted += re.findall(r"the log (?:says|has|has a line) `([^`]+)`", text)
    fragments = {fragment.strip(" :;,") for message in quoted for fragment in PLACEHOLDER.split(message)}
    fragments = {
        fragment for fragment in fragments if len(fragment.split()) > 1 and not fragment.startswith(("nstat", "sysctl"))
    }
    assert len(fragments) > 20
    assert [fragment for fragment in sorted(fragments) if fragment not in source] == []


def test_algorithms_without_marks_are_those_of_the_doctor() -> None:
    source = (WEFTD / "src" / "doctor" / "network.rs").read_text(encoding="utf-8")
    constant = re.search(r"const WITHOUT_ECN: .*?= \[(.*?)\];", source, re.DOTALL)
    assert constant is not None
    expected = set(re.findall(r'"(weft_\w+)"', constant[1]))
    for page, sentence in (
        ("two-networks.md", "All algorithms but (.*?) need queues"),
        ("limits.md", "need no marks: (.*)"),
    ):
        stated = re.search(sentence, (PAGES / page).read_text(encoding="utf-8"))
        assert stated is not None, page
        assert set(codes(stated[1])) == expected, page
