"""Generates the reference of experiments and tables: `make generate`.

`docs/reference.md` lists all names, and `docs/reference` has a page per group. They are made of the spec's JSON Schema,
the registries and the tables' columns. `generate_transports` makes the page that helps to choose a transport.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import generate_transports
from reference_examples import ALL, example, levels, profile_values
from weft import _weft

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
INDEX = "reference.md"
COLUMNS = ROOT / "crates" / "weft-run" / "src" / "tables" / "columns.md"
COLUMNS_OF_KINDS = ROOT / "crates" / "weft-transports" / "src" / "columns.md"
WITHOUT_ECN = ROOT / "crates" / "weft-queues" / "src" / "without_ecn.md"
MIXES = ROOT / "crates" / "weft-packet" / "src" / "transport" / "mixes.md"


def pages() -> dict[str, str]:
    """Returns the text of each page, by its path in `docs`."""
    schema = json.loads(_weft.schema())
    definitions = schema["$defs"]
    sections: dict[str, list[str]] = {page: [] for page in PAGES}
    names = [
        name
        for name in dict.fromkeys(_references(schema["properties"], definitions))
        if "properties" in definitions[name] and not name.startswith(IN_C)
    ]
    common = {page: _common([name for name in names if page_of(name) == page], definitions) for page in PAGES}
    sections["experiment"] += _table("Experiment", "An experiment", schema, definitions, {})
    for name in names:
        heading = _heading(name, definitions[name])
        sections[page_of(name)] += _table(name, heading, definitions[name], definitions, common[page_of(name)])
    for page, rows in common.items():
        sections[page] += [COMMON, *rows.values(), ""] if rows else []
    sections["congestion-control"] += _programs(definitions)
    sections["transports"].append(MIXES.read_text(encoding="utf-8"))
    sections["tables"] = [COLUMNS.read_text(encoding="utf-8"), COLUMNS_OF_KINDS.read_text(encoding="utf-8")]
    sections["queues"].append(WITHOUT_ECN.read_text(encoding="utf-8"))
    texts = {path_of(page): "\n".join([_head(page), *parts]) for page, parts in sections.items()}
    return {INDEX: _index(), generate_transports.PAGE: generate_transports.page(), **texts}


def path_of(page: str) -> str:
    """Returns the path of a page in `docs`."""
    return f"reference/{page}.md"


def page_of(name: str) -> str:
    """Returns the page that describes a definition of the schema."""
    return next((page for end, page in ENDS.items() if name.endswith(end)), "experiment")


def _head(page: str) -> str:
    title, about = PAGES[page]
    see = f"\n{SEE[page]}" if page in SEE else ""
    return f"{FRONT_MATTER}{GENERATED}\n\n# {title}\n\n{about}{see}\n"


def _index() -> str:
    registry = json.loads(_weft.registry())
    rows = [f"| [{title}](reference/{page}.md) | {about} |" for page, (title, about) in PAGES.items()]
    names = {group: ", ".join(f"`{entry['name']}`" for entry in entries) for group, entries in registry.items()}
    groups = [f"| {group} | {text} |" for group, text in names.items()]
    return "\n".join([INTRODUCTION, *rows, NAMES, *groups, ""])


def _references(schema: Any, definitions: dict[str, Any]) -> Iterator[str]:
    """Names of the definitions that a part of the schema needs, in the order in which a reader meets them."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            yield name
            yield from _references(definitions[name], definitions)
        for key, value in schema.items():
            if key != "discriminator":
                yield from _references(value, definitions)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item, definitions)


def _heading(name: str, definition: dict[str, Any]) -> str:
    for field in ("kind", "name"):
        choice = definition["properties"].get(field, {}).get("const")
        if choice is not None:
            return f'`{field} = "{choice}"`: `{name}`'
    return f"`{name}`"


def _row(name: str, field: str, definitions: dict[str, Any]) -> str:
    """The row of a field in the table of common fields."""
    definition = definitions[name]
    schema = definition["properties"][field]
    needed = "required" if field in definition.get("required", []) else _default(schema)
    supported = levels(name, definition, field)
    column = "all" if supported == ALL else _codes(supported)
    allowed, meaning = _allowed(schema, definitions), _cell(schema.get("description", ""))
    return f"| `{field}` | {_cell(allowed)} | {needed} | {column} | {meaning} |"


def _common(names: list[str], definitions: dict[str, Any]) -> dict[str, str]:
    """The rows of fields that several definitions of a page have, by field."""
    fields = [(name, field) for name in names if name != "ProfilePatch" for field in definitions[name]["properties"]]
    kept = [pair for pair in fields if "const" not in definitions[pair[0]]["properties"][pair[1]]]
    rows = [(field, _row(name, field, definitions)) for name, field in kept]
    return {field: row for (field, row), count in Counter(rows).items() if count >= SHARED_BY}


def _table(
    name: str, heading: str, definition: dict[str, Any], definitions: dict[str, Any], common: dict[str, str]
) -> Iterator[str]:
    of_all = levels(name, definition)
    yield f"## {heading}\n"
    yield _cell(definition.get("description", "")) + "\n"
    if of_all != ALL:
        yield f"Levels: {_codes(of_all)}.\n"
    if text := example(name, definition):
        yield f"```toml\n{text}\n```\n"
    fields = {field: schema for field, schema in definition["properties"].items() if "const" not in schema}
    shared = [field for field in fields if field in common and common[field] == _row(name, field, definitions)]
    fields = {field: schema for field, schema in fields.items() if field not in shared}
    if shared:
        yield f"[Common fields](#common-fields): {_codes(shared)}.\n"
    if not fields:
        return
    # A column for levels only where fields differ from each other, and a default per profile.
    differ = any(levels(name, definition, field) != of_all for field in fields)
    profiles = profile_values() if name == "ProfilePatch" else {}
    default = f"in `{next(iter(profiles))}` | in other profiles, if it differs" if profiles else "default"
    yield f"| field | value | {default} |" + (" levels |" if differ else "") + " meaning |"
    yield "|---|---|" + "---|" * (2 if profiles else 1) + ("---|" if differ else "") + "---|"
    for field, schema in fields.items():
        needed = "required" if field in definition.get("required", []) else _default(schema)
        if profiles:
            needed = _by_profile(
                {profile: _default({"default": values[field]}) for profile, values in profiles.items()}
            )
        allowed, meaning = _allowed(schema, definitions), schema.get("description", "")
        supported = levels(name, definition, field)
        column = f" {'all' if supported == ALL else _codes(supported)} |" if differ else ""
        yield f"| `{field}` | {_cell(allowed)} | {needed} |{column} {_cell(meaning)} |"
    yield ""
    if columns := definition.get("x-columns"):
        yield from (CSV_COLUMNS, *(f"| `{column}` | {values} | {meaning} |" for column, values, meaning in columns), "")


def _by_profile(values: dict[str, str]) -> str:
    """Two cells: the value of the first profile, and those of the others that differ from it, with their profiles."""
    first, *rest = values
    others: dict[str, list[str]] = {}
    for profile in rest:
        others.setdefault(values[profile], []).append(profile)
    if list(others) != [values[first]] and len(others) == 1:
        return f"{values[first]} | {next(iter(others))}"
    cells = [f"{_codes(names)}: {value}" for value, names in others.items() if value != values[first]]
    return f"{values[first]} | {'; '.join(cells)}"


def _programs(definitions: dict[str, Any]) -> Iterator[str]:
    """The algorithms that are programs of `weftd`, each with the algorithm that has its parameters."""
    yield PROGRAMS
    for name, definition in definitions.items():
        if not name.startswith(IN_C):
            continue
        native = definitions[name.removeprefix(IN_C)]
        # A program may lack parameters of the native algorithm, but has none of its own.
        fields, known = (set(given["properties"]) - {"name"} for given in (definition, native))
        assert fields <= known, name  # noqa: S101 - the table below would be wrong
        lacking = _codes(sorted(known - fields))
        parameters = f"those of `{native['properties']['name']['const']}`" + (f" without {lacking}" if lacking else "")
        yield f"| `{definition['properties']['name']['const']}` | {parameters} | {_cell(definition['description'])} |"
    yield ""


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _default(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return "" if default in (None, {}, []) else f"`{json.dumps(default)}`"


def _allowed(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """The allowed values of a field, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"`{name}`" if "properties" in definitions[name] else _allowed(definitions[name], definitions)
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"] if value is not None)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if quantity := QUANTITIES.get(tuple(map(str, schema.get("examples", ())))):
        return f"[{quantity}](../reference.md#{'hosts' if quantity == 'hosts' else 'quantities'})"
    if "examples" in schema:
        return "such as " + ", ".join(f"`{json.dumps(example)}`" for example in schema["examples"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            arms = [_allowed(arm, definitions) for arm in schema[union] if arm.get("type") != "null"]
            choices = [arm for arm in dict.fromkeys(arms) if not re.fullmatch(r"`[A-Z]\w+`", arm)]
            # A long list of models says no more than that there are some.
            many = len(arms) - len(choices) > MAX_MODELS
            return ", ".join(
                [*choices, "or a table with the fields of one of these"] if many and choices else dict.fromkeys(arms)
            )
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = next(kind for kind in kinds if kind != "null")
    if kind == "array":
        return f"list of {_each(schema['items'], definitions)}"
    if kind == "object":
        return f"by name: {_allowed(schema['additionalProperties'], definitions)}"
    limits = [f"{word} {_number(schema[bound])}" for bound, word in LIMITS.items() if bound in schema]
    return " ".join([WORDS[kind], *limits])


def _each(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """The allowed items of a list, in words: the plural."""
    if "examples" in schema:
        return f"values such as {_either(f'`{json.dumps(example)}`' for example in schema['examples'])}"
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _either(_each(arm, definitions) for arm in schema[union])
    if schema.get("type") == "array":
        pairs = schema.get("minItems") == schema.get("maxItems") == 2
        return f"{'pairs' if pairs else 'lists'} of {_each(schema['items'], definitions)}"
    if schema.get("type") in ("integer", "number"):
        return _allowed(schema, definitions).replace("number", "numbers", 1)
    return _allowed(schema, definitions)


def _either(choices: Iterable[str]) -> str:
    *others, last = dict.fromkeys(choices)
    return f"{', '.join(others)} or {last}" if others else last


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
LIMITS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}

PAGES = {
    "experiment": ("Experiment", "The fields of a spec: level, duration, queues, hosts, events and more."),
    "topologies": ("Topologies", "The networks that `topology` chooses."),
    "traffic": ("Traffic", "The kinds of `[[traffic]]`, and distributions of sizes."),
    "transports": ("Transports", "A transport, and the fields of its profile that `tcp` changes."),
    "congestion-control": ("Congestion control", "The algorithms that `cc` chooses, with their parameters."),
    "paths": ("Path policies", "The policies that `paths` chooses."),
    "queues": ("Queues", "The kinds that `queues.kind`, `layers.NAME.queue` and `queue` of a `graph`'s cable choose."),
    "probes": ("Probes", "The kinds of `[[probes]]`, which record more than the usual tables."),
    "tables": ("Tables of a run", "The tables that a run yields, with their columns."),
}
"""Title and subject of each page."""
SEE = {"congestion-control": "[Which transport?](../explanation/which-transport.md) has their equations."}
"""A sentence below the subject of a page, with a link."""
ENDS = {
    "Topology": "topologies",
    "Cable": "topologies",
    "Traffic": "traffic",
    "Size": "traffic",
    "QueueClass": "queues",
    "SizeClass": "traffic",
    "Staggered": "traffic",
    "Transport": "transports",
    "ProfilePatch": "transports",
    "Ndp": "transports",
    "Roce": "transports",
    "Swift": "transports",
    "Timely": "transports",
    "Hpcc": "transports",
    "Uet": "transports",
    "Cc": "congestion-control",
    "Paths": "paths",
    "Queue": "queues",
    "Probe": "probes",
}
"""The page of definitions, by the end of their names; others are on the page of the experiment."""

FRONT_MATTER = """\
---
type: reference
---

"""
GENERATED = "<!-- Generated by `make generate` from the schema and the registries: do not edit. -->"
INTRODUCTION = (
    FRONT_MATTER
    + """\
# Experiments and tables

Each table of fields has the name of its model in `weft.spec`, and `weft schema` prints all of them as a JSON schema.
If not all levels support the fields of a section, the section names those that do: they accept the fields, and the
fields have an effect. Each example is a part of a spec; the other parts are as in any experiment.

| page | content |
|---|---|"""
)
MAX_MODELS = 4
SHARED_BY = 3
"""The number of definitions of a page from which on a field is described once."""
COMMON = """\
## Common fields

| field | value | default | levels | meaning |
|---|---|---|---|---|"""
QUANTITIES = {
    ("2us", "1.5ms", "20s"): "time",
    ("128KB", "64KiB", "1448B"): "size",
    ("10Gbps", "100Mbps"): "rate",
    ("100 packets", "150KB"): "length",
    ("h0", "0..8", "all", "['h0', 'h5']"): "hosts",
}
"""Quantities with units, and selections of hosts, by the examples of the schema."""
IN_C = "Bpf"
"""The beginning of the names of algorithms that are programs of `weftd`."""
PROGRAMS = """\
## Programs of `weftd`

These algorithms are the C code that `weftd` loads into a kernel, compiled natively. Level: `packet`.

| name | parameters | description |
|---|---|---|"""
CSV_COLUMNS = """\
The first line of a CSV file has the names of its columns, in any order. Other columns have no effect. Values may be
quoted as in RFC 4180, but not contain line breaks. Blank lines, and text after `#` outside quotes, are skipped.

| column | value | meaning |
|---|---|---|"""
NAMES = """
## Quantities

Quantities are texts with a unit.

| quantity | examples | units |
|---|---|---|
| time | `"2us"`, `"1.5ms"`, `"20s"` | `ps`, `ns`, `us` or `µs`, `ms`, `s` |
| size | `"128KB"`, `"64KiB"`, `"1448B"` | `B`, `KB`, `MB`, `GB`, and `KiB`, `MiB`, `GiB` |
| rate | `"10Gbps"`, `"100Mbps"` | `Tbps`, `Gbps` or `Gbit/s`, `Mbps` or `Mbit/s`, `kbps` or `kbit/s`, `bps` |
| length of a queue | `"100 packets"`, `"150KB"` | packets, or those of a size |

## Hosts

Fields for several hosts take a name, an index from 0, a range without its end, `"all"`, or a list of names and
indices: `"h0"`, `0`, `"0..8"`, `["h0", "h5"]`.

## Names

`weft list` prints these names with a line about each.

| group | names |
|---|---|"""

if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).write_text(text, encoding="utf-8")
