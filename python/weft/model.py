"""The base of all models of a spec: errors of one line, and copies that check their changes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, PlainSerializer, ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationUnexpectedValue

from weft import _weft
from weft.congestion_control import CongestionControl, is_own, own_of
from weft.errors import SpecError


def _name(value: object) -> str:
    if is_own(value):
        return str(value.name)  # type: ignore[attr-defined]
    raise PydanticSerializationUnexpectedValue("no class")  # so that another arm of the union is tried


OwnCc = Annotated[type[CongestionControl], PlainSerializer(_name, return_type=str)]
"""A class of congestion control written in Python. A dump contains its name."""


if TYPE_CHECKING:
    _OneLine = BaseModel
else:
    # The metaclass of pydantic has no public name.
    class _OneLineMeta(type(BaseModel)):
        """A metaclass that makes construction raise `SpecError`.

        Validation inside another model does not use it.
        """

        def __call__(cls, *args: object, **fields: object) -> object:
            fields = {name: python_numbers(value) for name, value in fields.items()}
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                raise complaint(cls, fields, error) from None

    class _OneLine(BaseModel, metaclass=_OneLineMeta):
        """A model whose construction raises `SpecError`."""


class Model(_OneLine):
    """A part of a spec, checked when it is created and at each assignment.

    Every error in it is a `SpecError` of one line.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True, validate_assignment=True)

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401 - as pydantic has it
        """Assigns a field.

        Raises:
            SpecError: There is no such field, or its value is wrong.
        """
        value = python_numbers(value)
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise complaint(type(self), None, error) from None

    @classmethod
    def model_validate(cls, obj: Any, **how: Any) -> Self:  # noqa: ANN401 - as pydantic has it
        """Validates like pydantic's method, with errors of one line."""
        obj = python_numbers(obj)
        try:
            return super().model_validate(obj, **how)
        except ValidationError as error:
            raise complaint(cls, obj, error) from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **how: Any) -> Self:  # noqa: ANN401 - as pydantic
        """Validates like pydantic's method, with errors of one line."""
        try:
            return super().model_validate_json(json_data, **how)
        except ValidationError as error:
            raise complaint(cls, None, error) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Returns a copy with some fields changed. Unlike pydantic's method it checks the changes.

        Raises:
            SpecError: There is no such field, or its value is wrong.
        """
        copy = super().model_copy(deep=deep)
        if not update:
            return copy
        own = {name: getattr(copy, name) for name in copy.model_fields_set}
        return type(self).model_validate(own | dict(update))


def complaint(model: type[BaseModel], given: object, error: ValidationError) -> SpecError:
    """Returns the error in one line.

    If possible it is the simulator's own message, which lists the allowed values.
    """
    if model.__name__ == "Experiment" and isinstance(given, Mapping):
        try:
            _weft.Experiment.parse(to_json(given), algorithms=own_of(given))
        except SpecError as better:
            return better
    # The innermost error concerns the intended arm of a union; the errors of the other arms are
    # further outside.
    first = max(error.errors(include_url=False, include_context=False), key=lambda details: len(details["loc"]))
    return SpecError(_line(model, first))


_UNITS = re.compile(r" \*\(([^()]+)\)\$'$")
"""The units at the end of the message of a pattern."""

MAX_DEPTH = 64
"""Maximum depth of a spec that is a dictionary; no field is deeper than ten."""


def to_json(document: Mapping[str, Any]) -> str:
    """Converts a spec, whose parts may be models, to JSON; fields that are None are left out.

    Raises:
        SpecError: A value is none of JSON's; the line begins with its path.
    """
    return json.dumps(_json_value(document, "", 0))


def _json_value(value: object, path: str, depth: int) -> object:
    """Returns a value of a spec as JSON has it."""
    if depth > MAX_DEPTH:
        raise SpecError(f"{path:.100}: nested more deeply than {MAX_DEPTH}; remove the inner values")
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_none=True)
    if is_own(value):
        return _name(value)
    if isinstance(value, CongestionControl):
        name = type(value).__name__
        raise SpecError(f"{path}: an object of the class {name}; pass the class {name} itself")
    value = _python_number(value)
    if isinstance(value, Mapping):
        found = {}
        for key, field in value.items():
            if not isinstance(key, str):
                raise SpecError(f"{path or 'spec'}: the name {key!r:.100}; allowed: names that are text")
            found[key] = _json_value(field, f"{path}.{key}" if path else key, depth + 1)
        return found
    if isinstance(value, list | tuple):
        return [_json_value(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise SpecError(f"{path}: {value}; allowed: a finite number")
    if value is None or isinstance(value, str | int | float):
        return value
    shown = f"{type(value).__name__} {value!r:.100}"
    raise SpecError(f"{path}: {shown}; allowed: values of JSON, and models of weft.spec")


def python_numbers(value: Any) -> Any:  # noqa: ANN401 - any part of a spec
    """Replaces numbers and arrays of NumPy in a part of a spec by Python's numbers and lists."""
    if isinstance(value, BaseModel | str):
        return value
    if isinstance(value, Mapping):
        return {name: python_numbers(field) for name, field in value.items()}
    if isinstance(value, list | tuple):
        return [python_numbers(item) for item in value]
    return _python_number(value)


def _python_number(value: object) -> object:
    """Returns a number or an array of NumPy as a number or a list of Python's, and other values as they are."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    return value


def _line(model: type[BaseModel], error: ErrorDetails) -> str:
    path = ""
    for part in error["loc"]:
        # Pydantic's path contains the name of a union's arm; the path of a spec does not.
        arm = getattr(import_module(model.__module__), part, None) if isinstance(part, str) else None
        if isinstance(arm, type) and issubclass(arm, BaseModel):
            model = arm
        elif not str(part).startswith(("literal[", "is-subclass[")):
            path += f"[{part}]" if isinstance(part, int) else f".{part}"
    where = f"{path.lstrip('.') or model.__name__}: "
    match error["type"]:
        case "extra_forbidden":
            names = [field.alias or name for name, field in model.model_fields.items()]
            near = get_close_matches(str(error["loc"][-1]), names, n=1, cutoff=0.8)
            hint = f'did you mean "{near[0]}"? ' if near else ""
            return f"{where}unknown field; {hint}allowed: {', '.join(names)}"
        case "missing":
            return f"{where}required field is missing; add it"
        case "no_such_attribute":
            return f"{where}unknown field; allowed: {', '.join(model.model_fields)}"
        case "string_pattern_mismatch" if (units := _UNITS.search(error["msg"])) is not None:
            return f"{where}{_shown(error['input'])}; allowed: a number with a unit: {', '.join(units[1].split('|'))}"
        case _:
            return f"{where}{_shown(error['input'])}; allowed: {error['msg'].removeprefix('Input should be ')}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
