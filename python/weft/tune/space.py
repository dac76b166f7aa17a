"""The space of a tuning: `--over 'queues.mark=5 packets:100 packets'`, or the ranges of the registry."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft import api
from weft.errors import UsageError
from weft.sweeps.axes import split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from optuna.distributions import BaseDistribution

MAX_PARAMETERS = 50
"""Maximum number of varied fields: no realistic number of trials covers a larger space."""

DECADES = 1000
"""A range of the registry with at least this ratio of its ends is searched on a logarithmic scale."""

DIGITS = 6
"""Significant digits of a tried value: more would only make its command longer."""

_END = r"(-?[0-9]{1,15}(?:\.[0-9]{1,15})?) ?([A-Za-z][A-Za-z ]{0,19})?"
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

    def text(self, value: Any) -> str:  # noqa: ANN401 - from Optuna
        """Returns the value as text after `=` in `--set`."""
        return str(value)

    def ends(self) -> list[str]:
        """Returns the values that must be valid for all to be valid."""
        return list(self.values)


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

    def text(self, value: float) -> str:
        """Returns the value as text after `=` in `--set`."""
        number = str(value) if self.whole else format(Decimal(repr(value)), "f")
        return f"{number} {self.unit}" if self.unit == "packets" else f"{number}{self.unit}"

    def ends(self) -> list[str]:
        """Returns the values that must be valid for all to be valid."""
        ends = (int(self.low), int(self.high)) if self.whole else (float(self.low), float(self.high))
        return [self.text(end) for end in ends]


Parameter = Choice | Range


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
        case ["transports", transport, "cc", *rest] if len(rest) < 2 and transport in spec["transports"]:
            name = spec["transports"][transport]["cc"]["name"]
        case _:
            raise UsageError(f"--over {text!r:.100}: has no range; allowed: {_ALLOWED}")
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
