"""Generates `weft/spec.py` from the spec's JSON Schema: `make generate`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from weft import _weft

MODELS = Path(__file__).parent / "weft" / "spec.py"


def generate() -> str:
    """The text that `weft/spec.py` must have."""
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder, "schema.json")
        document = _simplified(json.loads(_weft.schema()))
        document["$defs"] |= QUANTITIES
        # Only Python can hand over a class.
        document["$defs"]["Transport"]["properties"]["cc"]["anyOf"].append({"customTypePath": "weft.model.OwnCc"})
        Path(folder, "ruff.toml").write_text("line-length = 110\n", encoding="utf-8")
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
                "--use-standard-collections",
                "--use-union-operator",
                "--use-one-literal-as-default",
            ],
            check=True,
        )
        return generated.read_text(encoding="utf-8") + FOOTER


def _simplified(schema: Any, *, arm: bool = False) -> Any:
    """The schema as the generator likes it.

    Quantities become references to their definitions. Arms of unions lose their bounds, for each would else become a
    model of its own; what they said is checked when the experiment is run. Empty objects as defaults become absence,
    whole numbers are written as such.
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
    name = QUANTITY_NAMES.get(str(schema.get("examples", [""])[0]))
    return _named(kept, name) if name and "pattern" in kept else kept


def _named(quantity: dict[str, Any], name: str) -> dict[str, Any]:
    """A quantity as a reference to its definition, which it adds to `QUANTITIES`."""
    definition = {key: quantity.pop(key) for key in ("pattern", "examples")} | {"type": "string"}
    if QUANTITIES.setdefault(name, definition) != definition:
        raise ValueError(f"two definitions of {name}: {QUANTITIES[name]} and {definition}")
    reference = {"$ref": f"#/$defs/{name}"}
    nullable = "null" in quantity.pop("type")
    return quantity | ({"anyOf": [reference, {"type": "null"}]} if nullable else reference)


QUANTITY_NAMES = {"2us": "Time", "128KB": "Size", "10Gbps": "Rate", "100 packets": "Limit", "10 packets": "Mark"}
"""Names of the quantities by their first examples."""
QUANTITIES: dict[str, Any] = {}
BOUNDS = {"minimum", "maximum", "minItems", "maxItems", "minLength", "pattern", "examples"}
IN_MODEL: tuple[tuple[str, Any], ...] = (("default", {}), ("additionalProperties", False))
"""What `weft.model.Model` has for all models."""
HEADER = '''"""An experiment as pydantic models.

Generated from the spec's JSON Schema by `make generate`; do not edit.
"""'''
FOOTER = """

from weft.runtime_models import extend

extend(Experiment, Transport)
"""

if __name__ == "__main__":
    MODELS.write_text(generate(), encoding="utf-8")
