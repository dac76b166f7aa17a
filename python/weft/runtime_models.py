"""Extends the models of `weft.spec` by everything that the compiled registries contain.

`weft.spec` is generated. An algorithm, a topology, a kind of traffic or a probe that was compiled
in later has no model of its own. It gets a plain one here, whose fields only the simulator checks.
"""

from __future__ import annotations

import json
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model

from weft import _weft
from weft.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator


class RuntimeModel(Model):
    """A model of a kind that was registered after `weft.spec` was generated."""

    model_config = ConfigDict(extra="allow")


def extend(experiment: type[BaseModel], transport: type[BaseModel]) -> None:
    """Adds missing kinds to the models of an experiment and its transports."""
    registry = {
        group: [listing["name"] for listing in listings] for group, listings in json.loads(_weft.registry()).items()
    }
    cc = transport.model_fields["cc"]
    known = _constants(cc.annotation, "name")
    if new := [name for name in registry["algorithms"] if name not in known]:
        models = tuple(_model(name, "name", "Cc") for name in new)
        cc.annotation = Union[(cc.annotation, Literal[tuple(new)], *models)]  # type: ignore[assignment]
        transport.model_rebuild(force=True)
    changed = bool(new)
    level = experiment.model_fields["level"]
    if new := [name for name in registry["levels"] if name not in get_args(level.annotation)]:
        changed = True
        level.annotation = Literal[(*get_args(level.annotation), *new)]  # type: ignore[assignment]
    for field, group, suffix in (
        ("topology", "topologies", "Topology"),
        ("traffic", "traffic", "Traffic"),
        ("probes", "probes", "Probe"),
        ("controller", "controllers", "Controller"),
    ):
        info = experiment.model_fields[field]
        known = _constants(info.annotation, "kind")
        if new := [name for name in registry[group] if name not in known]:
            changed = True
            arms = (*_models(info.annotation), *(_model(name, "kind", suffix) for name in new))
            either: Any = reduce(or_, arms)
            told_apart: Any = Annotated[either, Field(discriminator="kind")]
            info.annotation = {"topology": either, "controller": told_apart | None}.get(field, list[told_apart])
            info.discriminator = "kind" if field == "topology" else None
    if changed:
        experiment.model_rebuild(force=True)


def _model(name: str, tag: str, suffix: str) -> type[BaseModel]:
    called = "".join(word.capitalize() for word in name.replace(":", "-").split("-")) + suffix
    fields: dict[str, Any] = {tag: (Literal[name], name)}
    return create_model(called, __base__=RuntimeModel, **fields)


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """Yields the models among the types of an annotation."""
    annotation = getattr(annotation, "__value__", annotation)  # of a named definition
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for part in get_args(annotation):
        yield from _models(part)


def _constants(annotation: object, tag: str) -> set[str]:
    return {model.model_fields[tag].default for model in _models(annotation) if tag in model.model_fields}
