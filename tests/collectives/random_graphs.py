"""Random graphs of messages and computing, as GOAL text, and the times at which each operation may happen."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

MOST_PROCESSORS = 255
"""Each computing has a processor of its own, and sends have the last one."""
ROUNDING = 2e-12
"""Error of times in seconds: those of an event and of its cause are whole picoseconds."""


@dataclass
class Operation:
    """An operation of a rank."""

    rank: int
    kind: str
    """`calc`, `send` or `recv`."""
    amount: int = 0
    """Nanoseconds, or bytes."""
    peer: int = 0
    message: int = 0
    """The tag, which occurs once."""
    before: list[tuple[Operation, bool]] = field(default_factory=list)
    """Operations of the rank that have started (true) or are done (false) before this one starts."""
    label: str = ""


class RandomGraph:
    """Operations in an order in which each may happen."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)  # noqa: S311
        self.ranks = draw.randrange(2, 8)
        self.operations: list[Operation] = []
        self.by_rank: list[list[Operation]] = [[] for _ in range(self.ranks)]
        unreceived: list[Operation] = []
        steps = draw.randrange(8, 40)
        messages = 0
        while len(self.operations) < steps or unreceived:
            choice = draw.random()
            if len(self.operations) >= steps or (choice < 0.35 and unreceived):
                sent = unreceived.pop(draw.randrange(len(unreceived)))
                added = Operation(sent.peer, "recv", sent.amount, sent.rank, sent.message)
            elif choice < 0.7:
                rank, peer = draw.sample(range(self.ranks), 2)
                added = Operation(rank, "send", draw.choice([0, 1, 900, draw.randrange(20_000)]), peer, messages)
                messages += 1
                unreceived.append(added)
            else:
                added = Operation(draw.randrange(self.ranks), "calc", draw.randrange(5_000))
            known = self.by_rank[added.rank]
            wanted = min(len(known), draw.randrange(4))
            added.before = [(before, draw.random() < 0.2) for before in draw.sample(known, wanted)]
            added.label = f"l{len(known)}"
            known.append(added)
            self.operations.append(added)

    def lines(self) -> list[list[str]]:
        """The lines of each rank. A receive stands before or after what it waits for."""
        lines: list[list[str]] = []
        for of_rank in self.by_rank:
            calcs = 0
            text = []
            for operation in of_rank:
                ends = f"{operation.amount}b {{}} {operation.peer} tag {operation.message}"
                match operation.kind:
                    case "calc":
                        text.append(f"{operation.label}: calc {operation.amount} cpu {calcs}")
                        calcs += 1
                    case "send":
                        text.append(f"{operation.label}: send {ends.format('to')} cpu {MOST_PROCESSORS}")
                    case _:
                        text.append(f"{operation.label}: recv {ends.format('from')}")
                for before, started in operation.before:
                    text.append(f"{operation.label} {'irequires' if started else 'requires'} {before.label}")
            lines.append(text)
        return lines

    def text(self, lines: list[list[str]] | None = None) -> str:
        blocks = [f"rank {rank} {{\n" + "\n".join([*text, "}\n"]) for rank, text in enumerate(lines or self.lines())]
        return f"num_ranks {self.ranks}\n" + "".join(blocks)

    def check(self, flows: pl.DataFrame, hosts: list[str]) -> None:
        """Checks that every message ends once and starts exactly when all that it waits for has happened."""
        sends = [operation for of_rank in self.by_rank for operation in of_rank if operation.kind == "send"]
        rows = {row["flow"]: row for row in flows.iter_rows(named=True)}
        assert len(rows) == len(flows) == len(sends)
        row_of = {send.message: rows[n] for n, send in enumerate(sends)}
        started: dict[int, float] = {}
        done: dict[int, float] = {}
        for operation in self.operations:
            waits = [(started if early else done)[id(other)] for other, early in operation.before]
            ready = max(waits, default=0.0)
            started[id(operation)] = ready
            if operation.kind == "calc":
                done[id(operation)] = ready + operation.amount * 1e-9
                continue
            row = row_of[operation.message]
            if operation.kind == "send":
                assert (row["from"], row["to"]) == (hosts[operation.rank], hosts[operation.peer])
                assert row["size_bytes"] == row["delivered_bytes"] == max(operation.amount, 1)
                assert abs(row["start_s"] - ready) <= ROUNDING * len(self.operations), (operation.label, row, ready)
                # Rounding does not accumulate along the messages of a chain.
                started[id(operation)] = row["start_s"]
                # At level `flow` an acknowledgement takes no time.
                acked = row.get("acked_s", row["finish_s"])
                assert row["start_s"] < row["finish_s"] <= acked
                done[id(operation)] = acked
            else:
                done[id(operation)] = max(ready, row["finish_s"])


def with_cycle(graph: RandomGraph) -> str:
    lines = graph.lines()
    lines[0] += ["first: calc 1", "last: calc 1", "last requires first", "first requires last"]
    return graph.text(lines)


def with_cycle_of_messages(graph: RandomGraph) -> str:
    """Two ranks wait for each other's message before they send."""
    lines = graph.lines()
    for rank in (0, 1):
        lines[rank] += ["in: recv 1b from " + f"{1 - rank} tag 1000", f"out: send 1b to {1 - rank} tag 1000"]
        lines[rank].append("out requires in")
    return graph.text(lines)


def with_unknown_id(graph: RandomGraph) -> str:
    lines = graph.lines()
    lines[-1] += ["first: calc 1", "first requires nothing"]
    return graph.text(lines)


def with_unknown_rank(graph: RandomGraph) -> str:
    lines = graph.lines()
    lines[0].append(f"send 1b to {graph.ranks}")
    return graph.text(lines)


def with_a_receive_of_nothing(graph: RandomGraph) -> str:
    lines = graph.lines()
    lines[-1].append("recv 1b from 0 tag 1000")
    return graph.text(lines)


def with_a_lost_message(graph: RandomGraph) -> str:
    lines = graph.lines()
    lines[-1].append("send 1b to 0 tag 1000")
    return graph.text(lines)


FAULTS: dict[Callable[[RandomGraph], str], str] = {
    with_cycle: r"line \d+: an operation that waits for itself",
    with_cycle_of_messages: r"line \d+: an operation that waits for itself",
    with_unknown_id: r'line \d+: label "nothing"',
    with_unknown_rank: r"line \d+: rank \d",
    with_a_receive_of_nothing: r"line \d+: a receive whose message is not sent",
    with_a_lost_message: r"line \d+: a message that is not received",
}
"""Graphs that cannot run, with the beginning of their message."""
