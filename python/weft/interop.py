"""Exchanges data with other tools: networks with NetworkX, flows with data frames, measurements of Linux tools.

Weft does not depend on NetworkX or pandas: graphs and frames of them are recognised by their methods.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from importlib import import_module
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import RequirementError, ResultWarning, UsageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    import polars as pl

    from weft.api import Result

FLOW_COLUMNS = ("from", "to", "size_bytes", "start_s")
"""Columns of a flow list."""

MAX_SIZE_BYTES = 10**12
"""Maximum size of a flow in bytes."""

MAX_START_S = 10**6
"""Maximum start of a flow in seconds."""

RATES = ("rate", "bandwidth", "capacity")
"""Data of edges with a rate; the first that an edge has counts."""

RATE_IN_BPS = "LinkSpeedRaw"
"""Data of edges with a rate in bits per second, as the Internet Topology Zoo has it."""

DELAYS = ("delay", "latency")
"""Data of edges with a delay; the first that an edge has counts."""

DESCRIPTIONS = {
    *("id", "key", "label", "name", "color", "colour"),
    *("LinkLabel", "LinkNote", "LinkSpeed", "LinkSpeedUnits", "LinkStatus", "LinkType"),
}
"""Data of edges that only describes them."""


def topology_from_networkx(
    graph: Any,  # noqa: ANN401 - NetworkX is not required
    *,
    rate: str,
    delay: str,
    hosts: Iterable[Hashable] | None = None,
) -> dict[str, Any]:
    """Returns the table `topology` of a spec for a graph of NetworkX.

    An edge becomes a cable, which has one link in each direction. Its data `rate` and `delay`, in the form that specs
    have or as numbers in bits per second and seconds, replace the values for all edges. So do `bandwidth`, `capacity`
    and `latency` with a unit, and `LinkSpeedRaw` in bits per second. A directed graph needs both directions of each
    edge, with equal data.

    Args:
        graph: A graph, multigraph or directed graph.
        rate: Rate of edges without a rate of their own, such as "10Gbps".
        delay: Propagation delay of edges without one of their own, such as "2us".
        hosts: The nodes that hold endpoints. By default those whose data `type` is "host", or, if no node has a
            `type`, those with a single edge.

    Raises:
        UsageError: A node is not in the graph, an edge leads from a node to itself, a direction is missing, or
            `bandwidth`, `capacity` or `latency` is a number without a unit.

    Warns:
        ResultWarning: Edges have data with other names, which has no effect.
    """
    names = [str(node) for node in graph.nodes]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"graph: two nodes are called {twice!r}; allowed: distinct names")
    edges = [(str(a), str(b), data) for a, b, data in graph.edges(data=True)]
    for a, b, _ in edges:
        if a == b:
            raise UsageError(f"graph: edge {a}-{b}; allowed: edges between different nodes")
    if graph.is_directed():
        edges = _undirected(edges)
    _warn_of_unread(edges)
    chosen = _hosts(graph, edges, hosts)
    known = set(names)
    unknown = next((name for name in chosen if name not in known), None)
    if unknown is not None:
        raise UsageError(f"hosts: {unknown!r}; allowed: nodes of the graph")
    end_nodes = set(chosen)
    return {
        "kind": "graph",
        "hosts": chosen,
        "switches": [name for name in names if name not in end_nodes],
        "links": [{"a": a, "b": b, **_link_data(a, b, data)} for a, b, data in edges],
        "rate": rate,
        "delay": delay,
    }


def topology_to_networkx(result: Result) -> Any:  # noqa: ANN401 - NetworkX is not required
    """Returns the network of a run as a graph of NetworkX, with one edge per link.

    Nodes have the data `type`, "host" or "switch". Edges have the row of the table `links` as data, such as
    `rate_bps`, `delay_s`, `drops` and `utilisation`, and `layer`.

    Raises:
        RequirementError: NetworkX is not installed.
    """
    try:
        nx = import_module("networkx")
    except ModuleNotFoundError:
        raise RequirementError("topology_to_networkx: needs networkx; run: pip install networkx") from None
    graph = nx.MultiDiGraph(name=result.manifest["name"])
    rows = list(result.links.iter_rows(named=True))
    sources = {row["from"] for row in rows if str(row["layer"]).startswith("host-")}
    for row in rows:
        for end in (row["from"], row["to"]):
            graph.add_node(end, type="host" if end in sources else "switch")
        graph.add_edge(
            row["from"], row["to"], **{name: value for name, value in row.items() if name not in {"from", "to"}}
        )
    return graph


def write_flow_list(flows: pl.DataFrame | str | PathLike[str] | Any, file: str | PathLike[str]) -> Path:  # noqa: ANN401 - a frame of pandas
    """Writes a CSV file for traffic `flow-list`, from a data frame or a Parquet file.

    Args:
        flows: A frame of Polars or pandas, or the path of a Parquet file, with the columns `from`, `to`, `size_bytes`
            and `start_s`. Other columns are ignored, so that the table `flows` of a run can be replayed. A flow
            without a size sends until the end.
        file: A new file, whose name ends in ".csv".

    Returns:
        The file.

    Raises:
        UsageError: A column is missing or has another type, a size is not a whole number from 1 to 10^12, or a start
            is not from 0 to 10^6.
        OutputError: The file exists, or cannot be written.
    """
    import polars as pl

    from weft.output import choose_file, new_file

    frame = _frame(flows)
    missing = [name for name in FLOW_COLUMNS if name not in frame.columns]
    if missing:
        raise UsageError(f"flows: no column {missing[0]!r}; allowed: columns {', '.join(FLOW_COLUMNS)}")
    frame = frame.select(FLOW_COLUMNS)
    for name in ("size_bytes", "start_s"):
        if not (frame[name].dtype.is_numeric() or frame[name].dtype == pl.Null):
            raise UsageError(f"flows: column {name!r} has {frame[name].dtype}; allowed: numbers")
    # pandas marks a missing number by NaN.
    sizes, starts = (frame[name].cast(pl.Float64).fill_nan(None) for name in ("size_bytes", "start_s"))
    frame = frame.with_columns(sizes.alias("size_bytes"), starts.alias("start_s"))
    for wrong, allowed in (
        (sizes.filter((sizes < 1) | (sizes > MAX_SIZE_BYTES) | (sizes != sizes.floor())), "whole numbers from 1"),
        (starts.filter((starts < 0) | (starts > MAX_START_S)), "numbers from 0"),
    ):
        if len(wrong):
            greatest = MAX_SIZE_BYTES if wrong.name == "size_bytes" else MAX_START_S
            raise UsageError(f"flows: column {wrong.name!r} has {wrong[0]:g}; allowed: {allowed} to {greatest}")
    empty = next((name for name in ("from", "to", "start_s") if frame[name].null_count()), None)
    if empty is not None:
        raise UsageError(f"flows: column {empty!r} has empty values; set a value for each flow")
    chosen = Path(file)
    if chosen.suffix != ".csv":
        raise UsageError(f"{chosen}: the name does not end in .csv; allowed: FILE.csv")
    choose_file(chosen, "flows", ".csv")
    columns = [pl.col("from", "to").cast(pl.String), pl.col("size_bytes").cast(pl.UInt64), "start_s"]
    with new_file(chosen) as unfinished:
        frame.select(columns).write_csv(unfinished)
    return chosen


def read_iperf3(file: str | PathLike[str]) -> pl.DataFrame:
    """Reads what `iperf3 --json` printed: one row per interval and stream.

    Returns:
        Columns `stream`, `start_s`, `end_s`, `bytes`, `goodput_bps` and, where the sender reported them, `retransmits`,
        `snd_cwnd_bytes` and `rtt_s`.

    Raises:
        UsageError: The file cannot be read, or has no intervals.
    """
    import polars as pl

    document = _json(file)
    try:
        rows = [
            {
                "stream": int(stream["socket"]),
                "start_s": float(stream["start"]),
                "end_s": float(stream["end"]),
                "bytes": int(stream["bytes"]),
                "goodput_bps": float(stream["bits_per_second"]),
                "retransmits": stream.get("retransmits"),
                "snd_cwnd_bytes": stream.get("snd_cwnd"),
                "rtt_s": stream["rtt"] / 1e6 if "rtt" in stream else None,
            }
            for interval in document["intervals"]
            for stream in interval["streams"]
        ]
    except (KeyError, TypeError, ValueError):
        raise UsageError(f"{file}: not an output of iperf3; pass a file that `iperf3 --json` wrote") from None
    integers = dict.fromkeys(("stream", "bytes", "retransmits", "snd_cwnd_bytes"), pl.Int64)
    numbers = dict.fromkeys(("start_s", "end_s", "goodput_bps", "rtt_s"), pl.Float64)
    order = ("stream", "start_s", "end_s", "bytes", "goodput_bps", "retransmits", "snd_cwnd_bytes", "rtt_s")
    return pl.DataFrame(rows, schema={name: (integers | numbers)[name] for name in order})


def read_nstat(file: str | PathLike[str]) -> pl.DataFrame:
    """Reads what `nstat --json` printed: one row per counter, with the columns `counter` and `value`.

    Raises:
        UsageError: The file cannot be read, or has no counters.
    """
    import polars as pl

    document = _json(file)
    counters = next(iter(document.values()), None) if isinstance(document, dict) else None
    if not isinstance(counters, dict) or not all(isinstance(value, int) for value in counters.values()):
        raise UsageError(f"{file}: not an output of nstat; pass a file that `nstat --json` wrote")
    return pl.DataFrame(
        {"counter": list(counters), "value": list(counters.values())}, schema={"counter": pl.String, "value": pl.Int64}
    )


_SS_MILLISECONDS = {"minrtt", "rtt", "rto"}
_SS_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


def read_ss(file: str | PathLike[str]) -> pl.DataFrame:
    """Reads what `ss --tcp --info --no-header` printed: one row per socket.

    Returns:
        Columns `state`, `local`, `peer`, and, where `ss` printed them, `cc`, `cwnd`, `ssthresh`, `mss`, `rtt_s`,
        `minrtt_s`, `rto_s`, `bytes_acked`, `bytes_received`, `retransmits`, `delivery_rate_bps` and `pacing_rate_bps`.

    Raises:
        UsageError: The file cannot be read, or has no sockets.
    """
    import polars as pl

    rows: list[dict[str, Any]] = []
    for line in _text(file).splitlines():
        words = line.split()
        if not words or words[0] == "State":
            continue
        if line[0].isspace():
            if not rows:
                break
            rows[-1] |= _socket(line)
        elif len(words) >= 5 and words[1].isdigit() and words[2].isdigit():
            rows.append({"state": words[0], "local": words[3], "peer": words[4]})
        else:
            rows.clear()
            break
    if not rows:
        raise UsageError(f"{file}: not an output of ss; pass a file that `ss --tcp --info --no-header` wrote")
    counts = ("cwnd", "ssthresh", "mss", "bytes_acked", "bytes_received", "retransmits")
    numbers = ("rtt_s", "minrtt_s", "rto_s", "delivery_rate_bps", "pacing_rate_bps")
    schema = dict.fromkeys(("state", "local", "peer", "cc"), pl.String)
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(counts, pl.Int64) | dict.fromkeys(numbers, pl.Float64))


def _socket(line: str) -> dict[str, Any]:
    """Returns the values of a line of `ss` with the state of a socket."""
    found: dict[str, Any] = {}
    for name, value in re.findall(r"(\w+):(\d+(?:\.\d+)?)", line):
        if name in _SS_MILLISECONDS:
            found[f"{name}_s"] = float(value) / 1e3
        elif name in {"cwnd", "ssthresh", "mss", "bytes_acked", "bytes_received"}:
            found[name] = int(float(value))
    if retransmits := re.search(r"\bretrans:\d+/(\d+)", line):
        found["retransmits"] = int(retransmits[1])
    for name, value, unit in re.findall(r"(delivery_rate|pacing_rate) (\d+(?:\.\d+)?)([KMG]?)bps", line):
        found[f"{name}_bps"] = float(value) * _SS_UNITS[unit]
    words = line.split()
    if words and re.fullmatch(r"[a-z][\w-]*", words[0]) and ":" not in words[0]:
        found["cc"] = words[0]
    return found


def _hosts(
    graph: Any,  # noqa: ANN401 - NetworkX is not required
    edges: list[tuple[str, str, Mapping[str, Any]]],
    given: Iterable[Hashable] | None,
) -> list[str]:
    if given is not None:
        return [str(node) for node in given]
    types = {str(node): data.get("type") for node, data in graph.nodes(data=True)}
    if any(kind is not None for kind in types.values()):
        return [name for name, kind in types.items() if kind == "host"]
    edge_counts = Counter(end for a, b, _ in edges for end in (a, b))
    return [name for name in types if edge_counts[name] == 1]


def _undirected(edges: list[tuple[str, str, Mapping[str, Any]]]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Pairs each edge of a directed graph with one in the other direction."""
    found: list[tuple[str, str, Mapping[str, Any]]] = []
    # The edges that wait for one in the other direction, in order, by their ends and data.
    waiting: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[int]] = {}
    unpaired: dict[int, tuple[str, str]] = {}
    for index, (a, b, data) in enumerate(edges):
        link = tuple(_link_data(a, b, data).items())
        back = waiting.get((b, a, link))
        if back:
            del unpaired[back.pop(0)]
        else:
            waiting.setdefault((a, b, link), []).append(index)
            unpaired[index] = (a, b)
            found.append((a, b, data))
    if unpaired:
        a, b = next(iter(unpaired.values()))
        raise UsageError(f"graph: no edge {b}->{a} like {a}->{b}; add it with equal data")
    return found


def _link_data(a: str, b: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Returns the rate and delay of an edge as a spec has them."""
    found = {}
    for field, names, factor, unit in (("rate", (*RATES, RATE_IN_BPS), 1.0, "bps"), ("delay", DELAYS, 1e12, "ps")):
        name = next((name for name in names if data.get(name) is not None), None)
        if name is None:
            continue
        value, where = data[name], f"graph: edge {a}-{b}: {name} is"
        if name == RATE_IN_BPS and isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise UsageError(f"{where} {value!r}; allowed: a number of bits per second") from None
        if not isinstance(value, Real) or isinstance(value, bool):
            found[field] = str(value)
        elif name not in {field, RATE_IN_BPS}:
            advice = f"text with a unit, or the data {field} in {'bits per second' if field == 'rate' else 'seconds'}"
            raise UsageError(f"{where} {value}, a number without a unit; allowed: {advice}")
        elif 0 <= (number := float(value) * factor) < 1e18:
            found[field] = f"{round(number)}{unit}"
        else:
            raise UsageError(f"{where} {value}; allowed: a number of at least 0, or text")
    return found


def _warn_of_unread(edges: list[tuple[str, str, Mapping[str, Any]]]) -> None:
    """Warns of data of edges that neither is read nor only describes them."""
    read = {*RATES, RATE_IN_BPS, *DELAYS, *DESCRIPTIONS}
    unread = sorted({str(name) for _, _, data in edges for name in data if name not in read})
    if unread:
        line = (
            f"graph: edges have data without an effect: {', '.join(unread)}; links have the data "
            f"{', '.join((*RATES, RATE_IN_BPS, *DELAYS))}, and otherwise `rate` and `delay` of the call; rename data "
            f"that is a rate or a delay"
        )
        warnings.warn(line, ResultWarning, stacklevel=3)


def _frame(flows: Any) -> pl.DataFrame:  # noqa: ANN401 - a frame of pandas
    import polars as pl

    if isinstance(flows, pl.DataFrame):
        return flows
    if isinstance(flows, str | PathLike):
        try:
            return pl.read_parquet(Path(flows))
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise UsageError(f"{flows}: cannot read: {reason}; pass a Parquet file") from None
    if hasattr(flows, "to_dict") and hasattr(flows, "columns"):
        return pl.DataFrame({str(name): flows[name].to_list() for name in flows.columns}, strict=False)
    raise UsageError(
        f"flows: {type(flows).__name__}; allowed: a frame of Polars or pandas, or the path of a Parquet file"
    )


def _text(file: str | PathLike[str]) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{file}: cannot read: {reason}; pass a text file") from None


def _json(file: str | PathLike[str]) -> Any:  # noqa: ANN401 - any JSON
    text = _text(file)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{file}: not a JSON document; use the option --json of the tool") from None
