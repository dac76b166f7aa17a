"""The base of all models of a spec: errors of one line, and copies that check their changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, PlainSerializer, ValidationError
from pydantic._internal._model_construction import ModelMetaclass
from pydantic_core import PydanticSerializationUnexpectedValue

from weft import _weft
from weft.congestion_control import CongestionControl, in_document, is_own
from weft.errors import SpecError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def _name(value: object) -> str:
    if is_own(value):
        return str(value.name)  # type: ignore[attr-defined]
    raise PydanticSerializationUnexpectedValue("no class")  # so that another arm of the union is tried


OwnCc = Annotated[type[CongestionControl], PlainSerializer(_name, return_type=str)]
"""A class of congestion control written in Python. A dump contains its name."""


class _OneLine(ModelMetaclass):
    """A metaclass that makes construction raise `SpecError`.

    Validation inside another model does not use it.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *args: object, **fields: object) -> object:  # noqa: N805 - of a metaclass
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                raise complaint(cls, fields, error) from None


class Model(BaseModel, metaclass=_OneLine):
    """A part of a spec. Every error in it is a `SpecError` of one line."""

    @classmethod
    def model_validate(cls, obj: Any, **how: Any) -> Self:  # noqa: ANN401 - as pydantic has it
        """Validates like pydantic's method, with errors of one line."""
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
            _weft.Experiment.parse(to_json(given), algorithms=in_document(given))
        except SpecError as better:
            return better
        except (TypeError, ValueError):
            pass  # a value that JSON cannot hold; pydantic names it
    # The innermost error concerns the intended arm of a union; the errors of the other arms are
    # further outside.
    first = max(error.errors(include_url=False, include_context=False), key=lambda details: len(details["loc"]))
    return SpecError(_line(model, first))


def to_json(document: Mapping[str, Any]) -> str:
    """Converts a spec, whose parts may be models, to JSON; fields that are None are left out."""

    def plain(value: object) -> object:
        if isinstance(value, BaseModel):
            return value.model_dump(by_alias=True, exclude_none=True)
        if is_own(value):
            return _name(value)
        raise TypeError(f"{type(value).__name__} {value!r}; allowed: values of JSON, and models of weft.spec")

    return json.dumps(document, default=plain, allow_nan=False)


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
        case _:
            return f"{where}{_shown(error['input'])}; allowed: {error['msg'].removeprefix('Input should be ')}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
