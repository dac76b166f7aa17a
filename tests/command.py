"""Runs the command `weft` as a user would: as a process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WEFT = str(Path(sys.executable).parent / "weft")

INCAST = """\
name = "incast"
duration = "50ms"

[topology]
kind = "many-to-one"
senders = 4
rate = "10Gbps"
delay = "5us"

[queues]
limit = "100 packets"
mark = "10 packets"

[transports.dctcp]
cc = "dctcp"

[[traffic]]
kind = "incast"
transport = "dctcp"
flows = 4
size = "64KB"
gap = "50us"
"""


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document it must be."""
        return json.loads(self.out)

    def complaint(self, code: int = 2) -> str:
        """The one line of standard error, after checking that there is nothing else and the code is right."""
        assert self.code == code, self
        assert self.out == "", self
        lines = self.err.splitlines()
        assert len(lines) == 1, self
        assert lines[0].startswith("weft: "), self
        return lines[0]


def weft(*arguments: str, cwd: Path) -> Ended:
    """Runs `weft` with these arguments."""
    done = subprocess.run([WEFT, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    # On a slow machine a sweep prints lines of progress.
    err = re.sub(r"^weft: .*% after \d+ min\n", "", done.stderr, flags=re.MULTILINE)
    return Ended(done.returncode, done.stdout, err)
