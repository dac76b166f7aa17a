"""The space of a tuning: `--over 'queues.mark=5 packets:100 packets'`, or the ranges of the registry."""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft import api
from weft.errors import UsageError
from weft.sweeps.axes import UNIT_LETTERS, split

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from optuna.distributions import BaseDistribution

MAX_PARAMETERS = 50
"""Maximum number of varied fields: no realistic number of trials covers a larger space."""

DECADES = 1000
"""A range of the registry with at least this ratio of its ends is searched on a logarithmic scale."""

DIGITS = 6
"""Significant digits of a tried value: more would only make its command longer."""

_END = rf"(-?[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?) ?([{UNIT_LETTERS}][A-Za-z/ ]{{0,19}})?"
_RANGE = re.compile(rf"{_END}:{_END}(?::(log|{_END}))?", re.ASCII)
_ALLOWED = (
    "FIELD=LOW:HIGH, FIELD=LOW:HIGH:STEP, FIELD=LOW:HIGH:log, FIELD=VALUE,VALUE…, "
    "or transports.NAME.cc for all parameters of an algorithm"
)


@dataclass(frozen=True)
class Choice:
    """A field that takes one of a list of values."""

    field: str
    values: tuple[str, ...]

    @cached_property
    def distribution(self) -> BaseDistribution:
        """Returns Optuna's distribution."""
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)

    def document(self) -> dict[str, Any]:
        """Returns the range as a document for JSON."""
        return {"values": list(self.values)}

    def rounded(self, value: Any) -> Any:  # noqa: ANN401 - what Optuna gives
        """Returns the value that is tried."""
        return value

    @property
    def size(self) -> int | None:
        """Returns the number of values."""
        return len(self.values)

    def index(self, value: Any) -> int:  # noqa: ANN401 - from Optuna
        """Returns the position of a value in the list."""
        return self.values.index(value)

    def at(self, index: int) -> str:
        """Returns the value at a position."""
        return self.values[index]

    def neighbours(self, index: int) -> list[int]:
        """Returns all other positions, because no value is nearer than another."""
        return [other for other in range(len(self.values)) if other != index]

    def text(self, value: Any) -> str:  # noqa: ANN401 - from Optuna
        """Returns the value as text after `=` in `--set`."""
        return str(value)

    def ends(self) -> list[str]:
        """Returns the values that must be valid for all to be valid."""
        return list(self.values)

    def of_spec(self, spec: Mapping[str, Any]) -> str:
        """Returns the value of a resolved spec in words."""
        value = _look_up(spec, self.field)
        return str(value.get("name", "a table") if isinstance(value, dict) else value)


@dataclass(frozen=True)
class Range:
    """A field that takes numbers, with or without a unit."""

    field: str
    low: Decimal
    high: Decimal
    whole: bool
    """Whether only whole numbers are tried."""
    step: Decimal | None = None
    log: bool = False
    unit: str = ""

    @cached_property
    def distribution(self) -> BaseDistribution:
        """Returns Optuna's distribution."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.whole:
            return IntDistribution(int(self.low), int(self.high), log=self.log, step=int(self.step or 1))
        step = None if self.step is None else float(self.step)
        return FloatDistribution(float(self.low), float(self.high), log=self.log, step=step)

    def document(self) -> dict[str, Any]:
        """Returns the range as a document for JSON."""
        facts = {"low": float(self.low), "high": float(self.high), "step": self.step and float(self.step)}
        return {**facts, "log": self.log, "unit": self.unit, "whole": self.whole}

    def rounded(self, value: float) -> float:
        """Returns the value that is tried, within the range."""
        if self.whole or self.step is not None:
            return value
        return min(max(float(f"{value:.{DIGITS}g}"), float(self.low)), float(self.high))

    @property
    def size(self) -> int | None:
        """Returns the number of values; None if there is no step between them."""
        step = self._step()
        return None if step is None else int((self.high - self.low) / step) + 1

    def index(self, value: float) -> int:
        """Returns the position of a value among the values from `low` on."""
        return round((value - float(self.low)) / float(self._step() or 1))

    def at(self, index: int) -> float:
        """Returns the value at a position."""
        value = self.low + index * (self._step() or 1)
        return int(value) if self.whole else float(value)

    def neighbours(self, index: int) -> list[int]:
        """Returns the positions below and above."""
        return [other for other in (index - 1, index + 1) if 0 <= other < (self.size or 0)]

    def _step(self) -> Decimal | None:
        return Decimal(1) if self.whole and self.step is None else self.step

    def text(self, value: float) -> str:
        """Returns the value as text after `=` in `--set`."""
        number = str(value) if self.whole else format(Decimal(repr(value)), "f")
        return f"{number} {self.unit}" if self.unit == "packets" else f"{number}{self.unit}"

    def ends(self) -> list[str]:
        """Returns the values that must be valid for all to be valid."""
        ends = (int(self.low), int(self.high)) if self.whole else (float(self.low), float(self.high))
        return [self.text(end) for end in ends]

    def of_spec(self, spec: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a number or text
        """Returns the value of a resolved spec, as a number if its unit is that of the range."""
        value = _look_up(spec, self.field)
        number = str(value).removesuffix(self.unit).strip() if self.unit else ""
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", number, re.ASCII):
            return float(number) if "." in number else int(number)
        return value if isinstance(value, int | float) else str(value)


Parameter = Choice | Range


def _look_up(spec: Mapping[str, Any], field: str) -> Any:  # noqa: ANN401 - any JSON
    """Returns the value of a field such as `traffic[0].flows`; "none" if the spec does not have it."""
    value: Any = spec
    for key in re.findall(r"[^.\[\]]+", field):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (IndexError, KeyError, TypeError, ValueError):
            return "none"
    return value


def combinations(parameters: Sequence[Parameter]) -> int | None:
    """Returns the number of combinations of values; None if there is no limit."""
    sizes = [parameter.size for parameter in parameters]
    return None if None in sizes else math.prod(size for size in sizes if size is not None)


def untried(
    parameters: Sequence[Parameter], values: Mapping[str, Any], tried: Collection[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """Returns the positions of the values or, if these are tried, of the nearest combination that is not.

    The distance is the number of steps, each to the next value of a range or to any value of a list. None: all are
    tried.
    """
    start = positions(parameters, values)
    seen, queue = {start}, deque([start])
    while queue:
        point = queue.popleft()
        if point not in tried:
            return point
        for n, parameter in enumerate(parameters):
            for other in parameter.neighbours(point[n]):
                near = (*point[:n], other, *point[n + 1 :])
                if near not in seen:
                    seen.add(near)
                    queue.append(near)
    return None


def positions(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> tuple[int, ...]:
    """Returns the position of each value in its range or list."""
    return tuple(parameter.index(values[parameter.field]) for parameter in parameters)


def parse(texts: Sequence[str], spec: Mapping[str, Any]) -> list[Parameter]:
    """Parses the values of `--over`.

    Args:
        texts: Fields with their ranges, or fields whose range the registry has.
        spec: The resolved spec, which has the algorithm of each transport.

    Raises:
        UsageError: A value is invalid, a field is given twice, or there are none or too many.
    """
    found: list[Parameter] = []
    for text in texts:
        if not api.is_text(text):
            raise UsageError(f"--over {text!r:.100}: not UTF-8 text; allowed: {_ALLOWED}")
        field, equals, values = (part.strip() for part in text.partition("="))
        if field in {"seed", "sweep"} or field.startswith("sweep."):
            raise UsageError(
                f"--over {field}: cannot be tuned, because it does not change results; choose another field"
            )
        found += [_given(text, field, values)] if equals else _registered(text, field, spec)
    fields = [parameter.field for parameter in found]
    for index, field in enumerate(fields):
        if field in fields[:index]:
            raise UsageError(f"--over {field}: given twice; remove one of the two")
    if not 1 <= len(found) <= MAX_PARAMETERS:
        raise UsageError(f"--over: {len(found)} fields to tune; allowed: 1 to {MAX_PARAMETERS}: {_ALLOWED}")
    return found


def _given(text: str, field: str, values: str) -> Parameter:
    if not field or not values:
        raise UsageError(f"--over {text!r:.100}: has no values; allowed: {_ALLOWED}")
    span = _RANGE.fullmatch(values)
    if span is None:
        several = tuple(split(values))
        if len(several) < 2 or "" in several or len(set(several)) < len(several):
            raise UsageError(
                f"--over {text!r:.100}: neither a range nor a list of distinct values; allowed: {_ALLOWED}"
            )
        return Choice(field, several)
    low, unit, high, other, step, by, third = span.groups()
    if unit != other or (by and third != unit):
        raise UsageError(f"--over {text!r:.100}: has two units; use one unit for all numbers")
    given = Range(
        field,
        Decimal(low),
        Decimal(high),
        "." not in values,
        Decimal(by) if by else None,
        log=step == "log",
        unit=unit or "",
    )
    if given.low >= given.high or (given.step is not None and not 0 < given.step <= given.high - given.low):
        raise UsageError(
            f"--over {text!r:.100}: empty range; allowed: LOW below HIGH, and a STEP of at most HIGH - LOW"
        )
    if given.step is not None:
        steps = (given.high - given.low) // given.step
        given = replace(given, high=given.low + steps * given.step)
    if given.log and given.low <= 0:
        raise UsageError(f"--over {text!r:.100}: a log range must start above 0")
    return given


def _registered(text: str, field: str, spec: Mapping[str, Any]) -> list[Parameter]:
    """Returns the range of a parameter, or those of all parameters of an algorithm."""
    match field.split("."):
        case ["transports", transport, "cc", *rest] if len(rest) < 2 and "cc" in spec["transports"].get(transport, {}):
            name = spec["transports"][transport]["cc"]["name"]
        case _:
            near = [
                f"transports.{transport}.cc" + ("" if field == "cc" else f".{field}")
                for transport, given in spec["transports"].items()
                if "cc" in given and (field == "cc" or field in _ranges(given["cc"]["name"]))
            ]
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise UsageError(f"--over {text!r:.100}: has no range; {hint}allowed: {_ALLOWED}")
    known = {
        parameter: range_
        for parameter, range_ in _ranges(name).items()
        if range_["minimum"] < range_["maximum"] and rest in ([], [parameter])
    }
    if not known:
        what = f"{rest[0]!r:.50}" if rest else "parameters"
        names = ", ".join(_ranges(name))
        end = f"allowed: {names}" if names else "choose another algorithm"
        raise UsageError(f"--over {text!r:.100}: {name} has no {what}; {end}")
    return [_range(f"transports.{transport}.cc.{parameter}", range_) for parameter, range_ in known.items()]


def _range(field: str, known: Mapping[str, Any]) -> Range:
    low, high = (Decimal(str(known[end])) for end in ("minimum", "maximum"))
    return Range(field, low, high, known["type"] == "integer", log=low > 0 and high >= DECADES * low)


def _ranges(name: str) -> dict[str, dict[str, Any]]:
    """Returns the numeric parameters of an algorithm, from the schema."""
    for definition in api.schema()["$defs"].values():
        properties = definition.get("properties", {})
        if properties.get("name", {}).get("const") == name:
            return {key: value for key, value in properties.items() if {"minimum", "maximum"} <= value.keys()}
    return {}
