"""The page of the comparison with public scripts, from the table, the stored results and the lists of this folder."""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance import ns3
from tests.conformance.table import Script, read_table

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
RESULTS = FOLDER / "results.csv"
OTHERS = FOLDER / "others.toml"
FAULTS = FOLDER / "faults.csv"
LIST_OF_FAULTS = FOLDER / "faults.toml"
MUTANTS = FOLDER / "mutants.csv"
SURVIVORS = FOLDER / "survivors.csv"
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "validation" / "conformance.md"
AGREES, DIFFERS, NOT_MODELLED = "agrees", "differs", "not modelled"
STATES = (AGREES, DIFFERS, NOT_MODELLED)
UNSEEDED = "A row without a seed was measured on an earlier version, with a part of every tenth change."


@dataclass(frozen=True)
class Result:
    """Whether each side answered as a script states."""

    weft: bool
    kernel: bool
    ns3: str | None = None
    """How ns-3 differed first; empty if it did not, and None if it was not played."""

    @property
    def words(self) -> tuple[str, str, str]:
        """The cells of Weft, of the kernel and of ns-3."""
        ns3 = "-" if self.ns3 is None else word(holds=not self.ns3)
        return word(holds=self.weft), word(holds=self.kernel), ns3


def word(*, holds: bool) -> str:
    return "yes" if holds else "no"


def read_results() -> tuple[str, dict[str, Result]]:
    """Returns the kernel's release and the results of all scripts that were played."""
    rows = read_csv(RESULTS)
    results = {
        row["script"]: Result(
            row["weft"] == "yes", row["kernel"] == "yes", None if row["ns-3"] == "-" else row["difference of ns-3"]
        )
        for row in rows
    }
    return rows[0]["release"], results


def write_results(release: str, results: dict[str, Result]) -> None:
    """Writes the results of all scripts that were played."""
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["script", "weft", "kernel", "ns-3", "release", "difference of ns-3"])
        for name, result in results.items():
            writer.writerow([name, *result.words, release, result.ns3 or ""])


def state(script: Script, results: dict[str, Result]) -> str:
    """Returns the state of a script: whether Weft and the kernel answer alike."""
    if script.not_modelled:
        return NOT_MODELLED
    result = results[script.name]
    return AGREES if result.weft and result.kernel else DIFFERS


def counts(scripts: Iterable[Script], results: dict[str, Result]) -> Counter[str]:
    """Returns the number of scripts in each state."""
    return Counter(state(script, results) for script in scripts)


def group_table(scripts: list[Script], results: dict[str, Result]) -> list[str]:
    lines = ["| group | agrees | differs | not modelled |", "|---|---|---|---|"]
    for group in dict.fromkeys(script.group for script in scripts):
        count = counts([s for s in scripts if s.group == group], results)
        lines.append(f"| {group} | " + " | ".join(str(count[name]) for name in STATES) + " |")
    total = counts(scripts, results)
    lines.append("| all | " + " | ".join(str(total[name]) for name in STATES) + " |")
    return lines


def script_tables(scripts: list[Script], results: dict[str, Result]) -> list[str]:
    lines = []
    for group in dict.fromkeys(script.group for script in scripts):
        lines += ["", f"### {group[0].upper()}{group[1:]}", "", "| script | source | Weft | kernel | ns-3 | state |"]
        lines.append("|---|---|---|---|---|---|")
        for script in (s for s in scripts if s.group == group):
            words = ("-", "-", "-") if script.not_modelled else results[script.name].words
            cells = [f"`{script.name}`", script.origin, *words, state(script, results)]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def reasons(scripts: list[Script], field: str) -> list[str]:
    return [f"- `{script.name}`: {getattr(script, field)}." for script in scripts if getattr(script, field)]


def not_modelled(scripts: list[Script]) -> list[str]:
    """Returns a line for each reason, with the scripts to which it applies."""
    names: dict[str, list[str]] = {}
    for script in scripts:
        if script.not_modelled:
            names.setdefault(script.not_modelled, []).append(f"`{script.name}`")
    return [f"- {reason[0].upper()}{reason[1:]}: {', '.join(of)}." for reason, of in names.items()]


def ns3_section(scripts: list[Script], results: dict[str, Result]) -> list[str]:
    """Returns the section on ns-3: what it answered, and where it first answered otherwise."""
    played = [s for s in scripts if not s.not_modelled and results[s.name].ns3 is not None]
    public = [s for s in played if s.is_public]
    agree = [s for s in public if not results[s.name].ns3]
    left_out: dict[str, list[str]] = {}
    for script in scripts:
        if reason := "" if script.not_modelled else ns3.not_played(script):
            left_out.setdefault(reason, []).append(f"`{script.name}`")
    lines = [
        f"ns-3 3.37 answers as stated in {len(agree)} of {len(public)} public scripts.",
        "`tests/ns3/script.cc` plays them on a socket of ns-3, with the tolerance of Weft.",
        "The least timeout of ns-3 bounds the whole timeout, whereas that of Linux bounds its variance.",
        "So ns-3's is set to 200 ms and the script's round trip, which is Linux's timeout for steady round trips.",
        "",
        "Most differences have one of these causes:",
        "",
        "- ns-3 has neither RACK (RFC 8985) nor its tail loss probe: it waits for a third duplicate or a timeout.",
        "- It undoes nothing: it has no F-RTO (RFC 5682), no Eifel detection, and no DSACK (RFC 2883).",
        "- A window grows although the application left more than half of it unused, and a pause does not shrink it.",
        "- A receiver delays acknowledgements from the second segment on; Linux's first ones are immediate"
        " (`tcp_enter_quickack_mode`).",
        "- HyStart ends slow start later, and the window after a recovery is one or two segments larger.",
        "",
        "The first line at which ns-3 answers otherwise:",
        "",
        "| script | line | ns-3 |",
        "|---|---|---|",
    ]
    for script in played:
        if difference := results[script.name].ns3:
            line, _, found = difference.partition(": ")
            lines.append(f"| `{script.name}` | `{line}` | {found} |")
    lines += ["", "Not played:", ""]
    return lines + [f"- {reason}: {', '.join(names)}." for reason, names in left_out.items()]


def other_rows() -> list[str]:
    others = tomllib.loads(OTHERS.read_text())["other"]
    lines = ["| source | what is compared | test | state |", "|---|---|---|---|"]
    lines += [f"| {o['source']} | {o['what']} | `{o['test']}` | {o['state']} |" for o in others]
    return lines


def read_csv(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as rows:
        return list(csv.DictReader(rows))


def fault_section() -> list[str]:
    """Returns the section on faults that were planted by hand."""
    rows = read_csv(FAULTS)
    by_scripts = sum(row["scripts"] == "yes" for row in rows)
    missed = [row for row in rows if row["scripts"] != "yes" and row["tests"] == "0"]
    lines = [
        f"`python -m tests.conformance.faults` plants {len(rows)} faults by hand, each alone in a scratch copy.",
        f"The tests find {len(rows) - len(missed)} of them; the table of scripts finds {by_scripts}.",
        "For a fault in the transport, the tests of TCP are run, and for others the tests of the crate.",
        "Scripts are among the tests of TCP, and not run if the crate's own tests find the fault.",
        "",
        "| fault | scripts | other tests that fail |",
        "|---|---|---|",
    ]
    lines += [f"| {row['fault']} | {row['scripts']} | {row['tests']} |" for row in rows]
    equivalent = [f for f in tomllib.loads(LIST_OF_FAULTS.read_text())["fault"] if "equivalent" in f]
    return [*lines, "", "Faults that change no behaviour:", ""] + [
        f"- {f['name']}: {f['equivalent']}." for f in equivalent
    ]


def mutant_section() -> list[str]:
    """Returns the section on changes by cargo-mutants."""
    rows = read_csv(MUTANTS)
    lines = [
        "`make mutants` makes small changes of the code with cargo-mutants, one at a time.",
        "It counts the changes that tests find, also those for which a test was added then.",
        "Each part has a random sample of its changes, in an order that the seed determines.",
        "The column of tried changes has the size of each sample.",
        *([UNSEEDED] if any(row["seed"] == "-" for row in rows) else []),
        "A change at which the tests take ten times as long counts as found.",
        "Each part is tested by its own crate's tests; recovery is tested by those of TCP.",
        "The score leaves out changes that do not compile.",
        "",
        "| part | changes | seed | tried | found | not found | not compiled | score |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        found, missed = int(row["found"]), int(row["not found"])
        score = f"{100 * found / max(found + missed, 1):.0f} %"
        lines.append("| " + " | ".join([*row.values(), score]) + " |")
    lines += ["", "Reasons of the changes that are not found:", ""]
    return lines + [f"- `{row['change']}`: {row['reason'] or 'not examined'}." for row in read_csv(SURVIVORS)]


def quoted_count() -> str:
    """Returns the count that the README quotes."""
    _, results = read_results()
    count = counts((script for script in read_table() if script.is_public), results)
    return f"{count[AGREES]} of {count[AGREES] + count[DIFFERS]} public scripts"


def update_readme() -> None:
    """Updates the count that the README quotes."""
    README.write_text(re.sub(r"\d+ of \d+ public scripts", quoted_count(), README.read_text()))


def page() -> str:
    """Returns the page."""
    scripts = read_table()
    release, results = read_results()
    count = counts((script for script in scripts if script.is_public), results)
    own = counts((script for script in scripts if not script.is_public), results)
    played = count[AGREES] + count[DIFFERS]
    paragraphs = [
        "---",
        "type: results",
        "search:",
        "  exclude: true",
        "---",
        "",
        "# Conformance",
        "",
        "<!-- Generated by `make conformance UPDATE=yes`. -->",
        "",
        "Public scripts test the Internet's TCP: they state what is sent when, and what must answer when.",
        "Weft has the facts of such scripts as a table in `tests/conformance/scripts`, in its own words.",
        "The tests of the packet level play the table on Weft.",
        "`make conformance` plays it on Weft, on this machine's kernel and on ns-3, side by side.",
        "This takes less than a minute once everything is compiled.",
        "",
        f"Weft and Linux {release} both answer as stated in {count[AGREES]} of {played} public scripts.",
        f"For {count[NOT_MODELLED]} others Weft has nothing to which they apply.",
        f"Scripts that were written here, for other rules, agree in {own[AGREES]} of {own.total()} cases.",
        "",
        "## How scripts are played",
        "",
        "On Weft, the script takes the place of the other host.",
        "On the kernel, a socket is one end and a TUN device the other, in a network namespace of its own.",
        "Both play the same lines: `+10 ack 4 sack 5-7` acknowledges segments after 10 ms.",
        "The line `+0 send 4-5` states an answer.",
        "A segment has 1,000 bytes, and the profile is `linux`, without timestamps unless the script has them.",
        "Data must be sent in the stated order, with nothing in addition.",
        "Answers of Weft may be 5 ms from the stated time, those of the kernel 12 ms.",
        "Timers of 250 ms and more may fire an eighth of their delay later on the kernel, whose timer wheel is coarse.",
        "If the kernel does not answer as the table below says, the script is played twice more, alone.",
        "Two of the three plays then decide.",
        "No script of DCTCP is played, because the kernel of the last run is built without `CONFIG_TCP_CONG_DCTCP`.",
        "",
        "## Count by group",
        "",
        *group_table(scripts, results),
        "",
        "The table counts public scripts and those that were written here.",
        "A script agrees if Weft and the kernel both answer as it states.",
        "",
        "## Reasons for differences",
        "",
        "Each reason names the kernel's function. The test fails if such a script begins to agree.",
        "",
        *reasons(scripts, "weft"),
        *reasons(scripts, "kernel"),
        "",
        "## Not modelled",
        "",
        *not_modelled(scripts),
        "",
        "## Scripts",
        *script_tables(scripts, results),
        "",
        "## Scripts on ns-3",
        "",
        *ns3_section(scripts, results),
        "",
        "## Traces and tables of other simulators",
        "",
        *other_rows(),
        "",
        "## Planted faults",
        "",
        *fault_section(),
        "",
        "## Mutation score",
        "",
        *mutant_section(),
        "",
    ]
    return "\n".join(paragraphs)
