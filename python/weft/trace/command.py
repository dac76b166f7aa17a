"""The work of `weft trace` with a spec: runs it with a probe of packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft import api
from weft.errors import StoppedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from weft._weft import Progress


def record(
    spec: Path, overrides: Sequence[str], at: Sequence[str], progress: Callable[[Progress], bool | None]
) -> api.Result:
    """Runs a spec and records the packets of these capture points, in addition to those of its own probes.

    Raises:
        SpecError: The spec is wrong, or a capture point does not exist.
        StoppedError: Ctrl-C.
        UsageError: No capture point is given, and the spec has no probe of packets.
    """
    document = api.load(spec, overrides).model_dump(by_alias=True, exclude_none=True)
    probes = list(document.get("probes", []))
    if at:
        probes.append({"kind": "packets", "at": list(at)})
    if not any(probe["kind"] == "packets" for probe in probes):
        raise UsageError(
            'trace: no links to record; use --at NODE or --at "FROM->TO", or add a probe of kind "packets" to the spec'
        )
    # MP_PRIO needs the times at which subflows are suppressed.
    if any(transport.get("subflows", 1) > 1 for transport in document["transports"].values()):
        probes.append({"kind": "flow"})
    result = api.run(document | {"probes": probes}, progress=progress)
    if result.partial:
        raise StoppedError("stopped; nothing is written")
    return result
