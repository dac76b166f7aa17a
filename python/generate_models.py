"""Generates `weft/spec.py` from the spec's JSON Schema: `make generate`."""

import json
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from weft import _weft

MODELS = Path(__file__).parent / "weft" / "spec.py"


def generate() -> str:
    """The text that `weft/spec.py` must have."""
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder, "schema.json")
        document = _simplified(_with_names(json.loads(_weft.schema())))
        # Only Python can hand over a class.
        document["$defs"]["Transport"]["properties"]["cc"]["anyOf"].append({"customTypePath": "weft.model.OwnCc"})
        Path(folder, "ruff.toml").write_text(LAYOUT, encoding="utf-8")
        schema.write_text(json.dumps(document), encoding="utf-8")
        generated = Path(folder, "spec.py")
        subprocess.run(
            [
                *(sys.executable, "-W", "ignore", "-m", "datamodel_code_generator"),
                *("--input", str(schema), "--input-file-type", "jsonschema"),
                *("--output", str(generated), "--output-model-type", "pydantic_v2.BaseModel"),
                *("--target-python-version", "3.11", "--class-name", "Experiment"),
                *("--custom-file-header", HEADER),
                *("--base-class", "weft.model.Model"),
                *("--formatters", "ruff-format"),
                "--disable-timestamp",
                "--enum-field-as-literal=all",
                "--field-constraints",
                "--strict-nullable",
                "--use-annotated",
                "--use-schema-description",
                "--use-field-description",
                "--use-single-line-docstring",
                "--use-type-alias",
                "--use-one-literal-as-default",
            ],
            check=True,
        )
        return DOCSTRING.sub(lambda found: f'"""{found[1].strip()}"""', generated.read_text(encoding="utf-8")) + FOOTER


def _with_names(document: dict[str, Any]) -> dict[str, Any]:
    """The schema with the definitions in `NAMES`, and references to them in all fields with these values."""
    definitions: dict[str, dict[str, Any]] = document["$defs"]
    named = {name: _value(definitions[model]["properties"][field])[0] for name, (model, field) in NAMES.items()}
    for model in (document, *definitions.values()):
        for field in model.get("properties", {}).values():
            value, nullable = _value(field)
            if name := next((name for name, definition in named.items() if definition == value), None):
                for key in field.keys() - ABOUT:
                    del field[key]
                reference = {"$ref": f"#/$defs/{name}"}
                field.update({"anyOf": [reference, {"type": "null"}]} if nullable else reference)
    definitions |= named
    return document


def _value(field: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The schema of a field's values other than null, and whether null is a value too."""
    match {key: value for key, value in field.items() if key not in ABOUT}:
        case {"anyOf": [*arms, {"type": "null"}]}:
            return arms[0] if len(arms) == 1 else {"anyOf": arms}, True
        case {"type": [kind, "null"], **others}:
            return {"type": kind, **others}, True
        case value:
            return value, False


def _simplified(schema: Any, *, arm: bool = False) -> Any:
    """The schema as the generator likes it.

    Arms of unions lose their bounds, for each would else become a model of its own; what they said is checked when the
    experiment is run. Empty objects as defaults become absence, whole numbers are written as such, and descriptions are
    wrapped to the width of lines.
    """
    if isinstance(schema, list):
        return [_simplified(item, arm=arm) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _simplified(value, arm=arm or key == "anyOf")
        for key, value in schema.items()
        if not (arm and key in BOUNDS) and (key, value) not in IN_MODEL and not key.startswith("x-")
    }
    if kept.get("type") == "integer" and isinstance(kept.get("default"), float):
        kept["default"] = int(kept["default"])
    if isinstance(about := kept.get("description"), str):
        kept["description"] = textwrap.fill(about, WIDTH - len('    """"""'), break_on_hyphens=False)
    return kept


WIDTH = 120
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
LAYOUT = f"line-length = {WIDTH}\nformat.skip-magic-trailing-comma = true\n"
NAMES = {
    "Time": ("Event", "at"),
    "Size": ("SizeClass", "below"),
    "Rate": ("FatTreeTopology", "rate"),
    "Limit": ("Queues", "limit"),
    "Mark": ("Queues", "mark"),
    "HostSet": ("HotSpotTraffic", "spots"),
    "Pairs": ("PoissonTraffic", "pairs"),
    "AnySize": ("PoissonTraffic", "size"),
    "AnyQueue": ("Queues", "kind"),
    "Algorithm": ("CollectiveTraffic", "algorithm"),
}
"""Names of definitions, and for each a model and a field that has such values."""
ABOUT = {"description", "default"}
"""What a schema says about a field instead of its values."""
BOUNDS = {"minimum", "maximum", "minItems", "maxItems", "minLength", "pattern", "examples"}
IN_MODEL: tuple[tuple[str, Any], ...] = (("default", {}), ("additionalProperties", False))
"""What `weft.model.Model` has for all models."""
HEADER = '''"""An experiment as pydantic models.

Generated from the spec's JSON Schema by `make generate`; do not edit."""'''
FOOTER = """

from weft.runtime_models import extend

extend(Experiment, Transport)
"""

if __name__ == "__main__":
    MODELS.write_text(generate(), encoding="utf-8")
