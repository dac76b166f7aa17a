"""A figure as files that a researcher can change: a spec per experiment, a list of runs, and a short script."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from weft.errors import UsageError
from weft_papers.figure import EQUATIONS, Figure, Scale

if TYPE_CHECKING:
    from pathlib import Path


SCRIPT = '''\
"""{name}: {title}.

Change a spec in `specs`, a line of `runs.json`, or `measure` and `plot` below, and run this script again.
"""

import json
from pathlib import Path

import weft
from {module} import claims, measure, plot
from weft.sweeps.cases import Case, run_cases

HERE = Path(__file__).parent


def main() -> None:
    """Runs all cases, prints the claims, and draws the figure."""
    cases = [
        Case(run["labels"], weft.load(HERE / "specs" / run["spec"], force=True), run["seed"])
        for run in json.loads((HERE / "runs.json").read_text())
    ]
    rows = run_cases(cases, measure)  # one frame, with the labels and the seed as first columns
    rows.write_parquet(HERE / "rows.parquet")
    for claim in claims(rows):
        print(f"{{claim.claim}}: paper {{claim.paper}}, measured {{claim.measured}}")
    plot(rows).savefig(HERE / "figure.pdf")


if __name__ == "__main__":
    main()
'''


def export(figure: Figure, scale: Scale, folder: Path) -> int:
    """Writes a figure into an existing, empty folder, and returns the number of its runs.

    Args:
        figure: The figure.
        scale: The size of its runs.
        folder: The folder.

    Raises:
        UsageError: The figure follows from equations, so that nothing runs.
    """
    if figure.level == EQUATIONS:
        raise UsageError(f"{figure.name}: follows from equations, so that there are no specs; run it without --export")
    module = figure.module()
    (folder / "specs").mkdir()
    names: dict[str, str] = {}
    runs = []
    for case in module.cases(scale):
        spec = case.experiment.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        text = json.dumps(spec | {"name": case.experiment.name}, indent=2, ensure_ascii=False)
        if text not in names:
            words = "-".join(re.findall(r"[\w.]+", " ".join(map(str, case.labels.values()))))[:60]
            taken = sum(name.rpartition("-")[0] == words for name in names.values())
            names[text] = f"{words or 'spec'}-{taken + 1}"
            (folder / "specs" / f"{names[text]}.json").write_text(text + "\n", encoding="utf-8")
        runs.append({"spec": f"{names[text]}.json", "seed": int(case.seed), "labels": dict(case.labels)})
    lines = ",\n".join(json.dumps(run, ensure_ascii=False) for run in runs)
    (folder / "runs.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    script = SCRIPT.format(name=figure.name, title=figure.title, module=module.__name__)  # type: ignore[attr-defined]
    (folder / "figure.py").write_text(script, encoding="utf-8")
    return len(runs)
