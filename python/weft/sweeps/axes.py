"""The fields that a sweep varies, and their values: `--over 'traffic[0].flows=10:40:10'`."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from weft.errors import SpecError, UsageError

MAX_RUNS = 100_000
"""Maximum number of runs of a sweep.

Each is a folder of files, and all are planned before the first begins.
"""

_NUMBER = r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?"
UNIT_LETTERS = "A-Za-z\u00b5\u03bc"
"""Letters of units; the micro sign and the Greek letter mu look alike."""
_END = rf"({_NUMBER})( ?[{UNIT_LETTERS}/]+)?"
_RANGE = re.compile(rf"{_END}:{_END}(?::{_END})?", re.ASCII)
_ALLOWED = "FIELD=VALUE,VALUE… or FIELD=FIRST:LAST:STEP, such as traffic[0].flows=10:40:10"


@dataclass(frozen=True)
class Axis:
    """One field and its values, as text after `=` in `--set`."""

    field: str
    values: tuple[str, ...]
    settings: tuple[tuple[str, ...], ...] = ()
    """For each value the changes that it stands for, if it is the name of several; otherwise empty."""

    @classmethod
    def of(cls, field: str, values: object) -> Self:
        """Returns an axis from Python values: numbers, text, tables, classes of congestion control.

        A dictionary of dictionaries names settings that change several fields together:
        `of("scheme", {"ndp": {"traffic[0].transport": "ndp", "queues.kind": "trimming"}})`.

        Raises:
            UsageError: There are no values, or one is given twice or cannot be a value of a spec.
        """
        where = f"over: {field!r:.100}"
        if not isinstance(field, str) or not field.strip():
            raise UsageError(f"{where}; allowed: the path of a field, such as transports.t.cc")
        if field == "seed" or field == "sweep" or field.startswith("sweep."):
            raise UsageError(f"{where}: cannot be varied; use seeds= for seeds, and fields of the experiment")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise UsageError(f"{where}: {values!r:.100}; allowed: a list of values")
        if isinstance(values, Mapping):
            named = {str(name): changes for name, changes in values.items()}
            wrong = next((name for name, changes in named.items() if not isinstance(changes, Mapping)), None)
            if wrong is not None or not named:
                raise UsageError(f"{where}: {wrong!r}: not a dictionary of fields; pass one for each name")
            settings = tuple(
                tuple(f"{path}={_text(value, f'{where}: {path}')}" for path, value in changes.items())
                for changes in named.values()
            )
            return cls(field.strip(), tuple(named), settings)
        from weft.model import python_numbers

        texts = tuple(_text(value, where) for value in python_numbers(list(values)))
        if not texts:
            raise UsageError(f"{where}: has no values; pass at least one")
        if len(set(texts)) < len(texts):
            twice = next(text for n, text in enumerate(texts) if text in texts[:n])
            raise UsageError(f"{where}: has {twice:.50} twice; remove one of the two")
        return cls(field.strip(), texts)

    def changes(self, index: int) -> list[str]:
        """Returns what the value at an index changes, in the form that `--set` takes."""
        return list(self.settings[index]) if self.settings else [f"{self.field}={self.values[index]}"]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a value of `--over`. Commas within brackets and quotes belong to a value.

        Raises:
            UsageError: It is not a field with values, has a value twice, or has too many values.
        """
        field, equals, values = text.partition("=")
        field = field.strip()
        if not (field and equals and values.strip()):
            raise UsageError(f"--over {text!r:.100}: has no values; allowed: {_ALLOWED}")
        if field == "sweep" or field.startswith("sweep."):
            raise UsageError(f"--over {field}: cannot vary a field of [sweep]; use a field of the experiment")
        if field == "seed":
            raise UsageError("--over seed: use --seeds N, which runs N consecutive seeds from the spec's seed")
        found: list[str] = []
        for part in split(values):
            span = _RANGE.fullmatch(part)
            found += [part] if span is None else _count(text, *span.groups())
            if not part or len(found) > MAX_RUNS:
                why = "an empty value" if not part else f"more than {MAX_RUNS:,} values"
                raise UsageError(f"--over {text!r:.100}: {why}; allowed: {_ALLOWED}")
        if len(set(found)) < len(found):
            twice = next(value for n, value in enumerate(found) if value in found[:n])
            raise UsageError(f"--over {field}: has {twice!r:.50} twice; remove one of the two")
        return cls(field, tuple(found))

    def labels(self) -> list[str] | list[int] | list[float]:
        """Returns the values for the tables: numbers if all of them are numbers, else text."""
        plain = [value[1:-1] if re.fullmatch(r'"[^"]*"', value) else value for value in self.values]
        if all(re.fullmatch(_NUMBER, value, re.ASCII) for value in self.values):
            return [float(v) for v in plain] if any("." in v for v in plain) else [int(v) for v in plain]
        return plain


def classes_in(values: object) -> list[object]:
    """Returns the classes of congestion control among values of `over`, also in tables."""
    from weft.congestion_control import is_own

    if is_own(values):
        return [values]
    if isinstance(values, Mapping):
        return [found for value in values.values() for found in classes_in(value)]
    if isinstance(values, list | tuple):
        return [found for value in values for found in classes_in(value)]
    return []


def _text(value: object, where: str) -> str:
    """Returns a value as text after `=` in `--set`, which is a value of TOML or plain text.

    Raises:
        UsageError: It cannot be a value of a spec.
    """
    if isinstance(value, str):
        try:
            tomllib.loads(f"value = {value}")
        except tomllib.TOMLDecodeError:
            return value  # such as "10 packets", which needs no quotes
        return json.dumps(value)
    return _toml(value, where)


def _toml(value: object, where: str) -> str:
    from weft.model import to_json

    try:
        plain = json.loads(to_json({"value": value}))["value"]
    except SpecError as error:
        raise UsageError(f"{where}: {str(error).removeprefix('value: ')}") from None
    return _inline(plain)


def _inline(value: object) -> str:
    """Returns JSON's value as an inline value of TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(name)} = {_inline(field)}" for name, field in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


def check(axes: Sequence[Axis], seeds: int) -> None:
    """Checks several axes together, each of which is valid by itself.

    Raises:
        UsageError: A field is given twice, or there are too many runs.
    """
    fields = [axis.field for axis in axes]
    for n, field in enumerate(fields):
        if field in fields[:n]:
            raise UsageError(f"--over {field}: given twice; remove one of the two")
    count = seeds
    for axis in axes:
        count *= len(axis.values)
    if count > MAX_RUNS:
        raise UsageError(f"--over and --seeds: {count:,} runs; allowed: at most {MAX_RUNS:,}")


def points(axes: Sequence[Axis]) -> Iterator[tuple[int, ...]]:
    """Yields the grid: for each axis the index of a value. The last axis varies fastest."""
    return itertools.product(*(range(len(axis.values)) for axis in axes))


def label_names(axes: Sequence[Axis], taken: Collection[str]) -> list[str]:
    """Returns a column name per axis: the last part of the field, or all of it if that part is not unique."""
    last = [axis.field.rsplit(".", 1)[-1] for axis in axes]
    return [
        axis.field if name in taken or last.count(name) > 1 else name for axis, name in zip(axes, last, strict=True)
    ]


def split(values: str) -> list[str]:
    """Splits at commas outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for c in values:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        if c == "," and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def _count(
    text: str, first: str, unit: str | None, last: str, last_unit: str | None, step: str | None, step_unit: str | None
) -> list[str]:
    if last_unit != unit or (step is not None and step_unit != unit):
        raise UsageError(
            f"--over {text!r:.100}: has two units; use one unit, for example queues.mark="
            "5 packets:25 packets:10 packets"
        )
    low, high, by = Decimal(first), Decimal(last), Decimal(step or "1")
    if by <= 0 or high < low:
        raise UsageError(
            f"--over {text!r:.100}: empty range; allowed: FIRST:LAST:STEP with LAST of at least FIRST and STEP above 0"
        )
    number = int((high - low) / by) + 1
    if number > MAX_RUNS:
        raise UsageError(f"--over {text!r:.100}: has {number:,} values; allowed: at most {MAX_RUNS:,}")
    return [format(low + n * by, "f") + (unit or "") for n in range(number)]
