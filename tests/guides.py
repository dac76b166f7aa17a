"""The blocks of a page of documentation, run in their order as a reader would.

A block with a title is a file. `bash` and `python` run; Python's blocks share their variables. A block `text` after
one of these is what it prints. `console` and other languages are only read.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.papers.snapshots import alike

FENCE = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass
class Guide:
    """A page, and the folder in which its reader works."""

    page: Path
    folder: Path
    variables: Mapping[str, str]
    """Environment variables."""

    def follow(self, *, renew: bool = False) -> list[str]:
        """Runs all blocks. Returns where what they printed differs from the page, a line each.

        To renew, the page gets what was printed instead.
        """
        names: dict[str, Any] = {"__name__": "__main__"}
        printed, differences, pieces, end = "", [], [], 0
        text = self.page.read_text(encoding="utf-8")
        for block in FENCE.finditer(text):
            language, title, content = block["language"], block["title"], block["text"]
            if title is not None:
                (self.folder / title).write_text(content, encoding="utf-8")
            elif language == "bash":
                printed = _trimmed(self._bash(content))
            elif language == "python":
                printed = _trimmed(self._python(content, names))
            elif language == "text":
                if not alike(_without_wall_time(content), _without_wall_time(printed)):
                    differences.append(f"{self.page.name}: says {content!r}, but it is {printed!r}")
                pieces += [text[end : block.start("text")], printed]
                end = block.end("text")
        if renew and differences:
            self.page.write_text("".join([*pieces, text[end:]]), encoding="utf-8")
            return []
        return differences

    def _bash(self, script: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", script]
        env = os.environ | self.variables
        done = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False, timeout=1200
        )
        assert done.returncode == 0, f"{self.page.name}: {script}{done.stdout}{done.stderr}"
        return done.stdout

    def _python(self, code: str, names: dict[str, Any]) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, self.page.name, "exec"), names)  # noqa: S102 - the page is ours
        return out.getvalue()


def _without_wall_time(text: str) -> str:
    """Returns the text without the time that a run took, which is never the same."""
    return re.sub(r"[\d.]+ s of wall time", "wall time", text)


def _trimmed(printed: str) -> str:
    """Without blanks at the ends of lines, and without blank lines at its own ends."""
    lines = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
    return f"{lines}\n" if lines else ""
