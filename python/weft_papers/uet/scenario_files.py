"""Files of scenarios: a CSV of scenarios and, in the folder `matrices` next to it, a CSV per traffic matrix."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.errors import UsageError
from weft_papers.uet.scenario import FAT_TREES, QUANTITIES, TOPOLOGY_FILES, Flow, Network, Scenario

FOLDER = Path(__file__).parent
PUBLISHED = FOLDER / "scenarios.csv"
"""The published scenarios."""
CONTROLS = ("sender", "receiver", "both")
LOAD_BALANCERS = ("oblivious", "bitmap", "reps", "mixed")
COLUMNS = ("plan", "number", "title", "cc", "matrix", "load_balancing", "paths", "options", *QUANTITIES)
MATRIX_COLUMNS = ("from", "to", "start_us", "size_bytes")
NUMBERS = {"end": 1, "q": 2, "cwnd": 1, "failed": 0, "sack_threshold": 1}
"""Options with a number, and the least one of each.

`end` is in microseconds, `q` and `cwnd` are in packets, `failed` is a number of links, and `sack_threshold` is in
bytes.
"""
MAX_NUMBER = 10**9


@dataclass(frozen=True)
class Published:
    """A row of a file of scenarios."""

    plan: str
    number: int
    title: str
    matrix: str
    options: str
    scenario: Scenario
    expected: Mapping[str, float | None]


def load(file: Path) -> list[Published]:
    """Returns the scenarios of a file.

    A matrix that is not in the folder next to the file is that of the published scenarios.

    Raises:
        UsageError: A file cannot be read, or a value is wrong.
    """
    matrices: dict[str, tuple[Flow, ...]] = {}

    def matrix(name: str) -> tuple[Flow, ...]:
        if name not in matrices:
            matrices[name] = _matrix(file, name)
        return matrices[name]

    found: list[Published] = []
    for row in _rows(file, COLUMNS):
        published = row.published(matrix)
        if any((other.plan, other.number) == (published.plan, published.number) for other in found):
            raise row.error("number", "given twice in its plan; remove one of the two")
        found.append(published)
    return found


@dataclass(frozen=True)
class _Row:
    file: Path
    line: int
    values: Mapping[str, str]

    def error(self, column: str, problem: str) -> UsageError:
        return UsageError(f"{self.file}: line {self.line}: {column}: {problem}")

    def text(self, column: str, allowed: tuple[str, ...] = ()) -> str:
        value = self.values[column]
        if not value:
            raise self.error(column, f"no value; allowed: {', '.join(allowed) or 'text'}")
        if allowed and value not in allowed:
            raise self.error(column, f"{value!r:.50}; allowed: {', '.join(allowed)}")
        return value

    def whole(self, column: str, least: int, most: int) -> int:
        return self.whole_of(column, self.values[column], least, most)

    def whole_of(self, name: str, text: str, least: int, most: int) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 15 and least <= int(text) <= most):
            raise self.error(name, f"{text!r:.50}; allowed: a whole number, {least} to {most}")
        return int(text)

    def number(self, column: str, most: float) -> float:
        text = self.values[column]
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= most:
            raise self.error(column, f"{text!r:.50}; allowed: a number, 0 to {most:g}")
        return value

    def published(self, matrix: Callable[[str], tuple[Flow, ...]]) -> Published:
        control = self.text("cc", CONTROLS)
        load_balancing = self.text("load_balancing", LOAD_BALANCERS)
        paths = self.whole("paths", 1, 65536)
        if paths & (paths - 1):
            raise self.error("paths", f"{paths}; allowed: a power of two, 1 to 65536")
        name = self.text("matrix")
        flows = matrix(name)
        numbers, network = self._options(flows)
        message_bytes = None
        if "conn_reuse" in self.values["options"].split():
            message_bytes = flows[0].size_bytes
            flows = self._connections(flows)
        scenario = Scenario(
            flows,
            network,
            control=control,
            load_balancing=load_balancing,
            paths=paths,
            message_bytes=message_bytes,
            ack_bytes=numbers.get("sack_threshold", Scenario.ack_bytes),
            queue_packets=numbers.get("q"),
            initial_window_packets=numbers.get("cwnd"),
            slow_links=numbers.get("failed", 0),
            duration_us=numbers["end"],
        )
        expected = {quantity: self.number(quantity, 1e12) if self.values[quantity] else None for quantity in QUANTITIES}
        plan, number, title = self.text("plan"), self.whole("number", 0, MAX_NUMBER), self.values["title"]
        return Published(plan, number, title, name, self.values["options"], scenario, expected)

    def _connections(self, flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
        """Returns a flow per pair of hosts, of which the given flows are messages."""
        if any((flow.size_bytes, flow.start_us) != (flows[0].size_bytes, flows[0].start_us) for flow in flows):
            raise self.error("options: conn_reuse", "messages differ in size or start; use equal ones")
        messages = Counter((flow.sender, flow.receiver) for flow in flows)
        return tuple(Flow(*pair, number * flows[0].size_bytes, flows[0].start_us) for pair, number in messages.items())

    def _options(self, flows: tuple[Flow, ...]) -> tuple[dict[str, int], Network]:
        numbers: dict[str, int] = {}
        highest = max(max(flow.sender, flow.receiver) for flow in flows)
        network = next((network for network in FAT_TREES if highest < network.hosts), None)
        for word in self.values["options"].split():
            name, _, value = word.partition("=")
            if name in NUMBERS:
                numbers[name] = self.whole_of(f"options: {name}", value, NUMBERS[name], MAX_NUMBER)
            elif name == "topo":
                network = TOPOLOGY_FILES.get(value)
                if network is None:
                    raise self.error("options: topo", f"{value!r:.50}; allowed: {', '.join(TOPOLOGY_FILES)}")
            elif word != "conn_reuse":
                allowed = ", ".join((*(f"{name}=NUMBER" for name in NUMBERS), "topo=FILE", "conn_reuse"))
                raise self.error("options", f"{word!r:.50}; allowed: {allowed}")
        if "end" not in numbers:
            raise self.error("options", "no end; add end=MICROSECONDS")
        if network is None or highest >= network.hosts:
            hosts = FAT_TREES[-1].hosts if network is None else network.hosts
            raise self.error("matrix", f"host {highest}; allowed: 0 to {hosts - 1}")
        slow = numbers.get("failed", 0)
        if slow and network not in FAT_TREES:
            raise self.error("options: failed", "not supported with topo; remove one of the two")
        # A fat-tree has as many links from core switches as hosts.
        if slow > network.hosts:
            raise self.error("options: failed", f"{slow}; allowed: 0 to {network.hosts} with this matrix")
        return numbers, network


def _matrix(file: Path, name: str) -> tuple[Flow, ...]:
    if Path(name).name != name:
        raise UsageError(f"{file}: matrix {name!r:.50}: not a name; allowed: the name of a file in matrices")
    candidates = [folder / "matrices" / f"{name}.csv" for folder in (file.parent, FOLDER)]
    path = next((path for path in candidates if path.exists()), None)
    if path is None:
        raise UsageError(f"{file}: matrix {name!r:.50}: {candidates[0]} does not exist; add the file")
    flows = tuple(
        Flow(
            row.whole("from", 0, 10**6),
            row.whole("to", 0, 10**6),
            row.whole("size_bytes", 1, 10**12),
            row.number("start_us", 1e9),
        )
        for row in _rows(path, MATRIX_COLUMNS)
    )
    loop = next((flow for flow in flows if flow.sender == flow.receiver), None)
    if loop is not None:
        raise UsageError(f"{path}: a flow from host {loop.sender} to itself; remove it")
    return flows


def _rows(file: Path, columns: tuple[str, ...]) -> Iterator[_Row]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{file}: cannot read: {reason}; pass a CSV file") from None
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        for column in columns:
            if names.count(column) != 1:
                problem = "given twice" if column in names else "missing"
                raise UsageError(f"{file}: column {column} is {problem}; allowed: {', '.join(columns)}, once each")
        reader.fieldnames = names
        count = 0
        for values in reader:
            count += 1
            if None in values or None in values.values():
                raise UsageError(f"{file}: line {reader.line_num}: not {len(names)} values, as the header has")
            yield _Row(file, reader.line_num, {column: values[column].strip() for column in columns})
    except csv.Error as error:
        raise UsageError(f"{file}: line {reader.line_num}: not valid CSV: {error}; correct the line") from None
    if count == 0:
        raise UsageError(f"{file}: no rows; allowed: at least one")
