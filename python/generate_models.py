"""Generates `weft/spec.py` from the spec's JSON Schema: `make models`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from weft import _weft

MODELS = Path(__file__).parent / "weft" / "spec.py"


def generate() -> str:
    """The text that `weft/spec.py` must have."""
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder, "schema.json")
        schema.write_text(_weft.schema(), encoding="utf-8")
        generated = Path(folder, "spec.py")
        subprocess.run(
            [
                *(sys.executable, "-m", "datamodel_code_generator"),
                *("--input", str(schema), "--input-file-type", "jsonschema"),
                *("--output", str(generated), "--output-model-type", "pydantic_v2.BaseModel"),
                *("--target-python-version", "3.11", "--class-name", "Experiment"),
                *("--custom-file-header", HEADER),
                *("--extra-fields", "forbid"),
                "--disable-timestamp",
                "--enum-field-as-literal=all",
                "--field-constraints",
                "--use-annotated",
                "--use-schema-description",
                "--use-field-description",
                "--use-standard-collections",
                "--use-union-operator",
                "--use-title-as-name",
                "--use-one-literal-as-default",
                "--collapse-root-models",
            ],
            check=True,
        )
        return generated.read_text(encoding="utf-8")


HEADER = '''"""An experiment as pydantic models.

Generated from the spec's JSON Schema by `make models`; not to be changed by hand.
"""'''

if __name__ == "__main__":
    MODELS.write_text(generate(), encoding="utf-8")
