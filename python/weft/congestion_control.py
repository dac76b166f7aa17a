"""Congestion control written in Python.

>>> class Gentle(weft.CongestionControl):
...     echo = "dctcp"
...
...     def on_mark(self, w, s):
...         w[s].cwnd = max(w[s].cwnd * 0.9, 2.0)
...         w[s].ssthresh = w[s].cwnd
>>> experiment = weft.load("incast.toml")  # doctest: +SKIP
>>> experiment.transports["amp"].cc = Gentle  # doctest: +SKIP
>>> weft.run(experiment)  # doctest: +SKIP
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from weft.errors import SpecError, UsageError

if TYPE_CHECKING:
    from weft._weft import Ack, Round, Window

Echo = Literal["off", "classic", "dctcp", "count"]

EVENTS = ("on_open", "on_ack", "on_mark", "on_round", "on_loss", "on_timeout", "on_undo", "on_close", "pacing_rate")
"""The methods that a class can override."""


class CongestionControl:
    """The congestion control of one connection, over the windows of all its subflows.

    Subclass it and override the methods that you need. Methods that are not overridden are those of
    Reno (RFC 5681; `reno` with `rfc_growth = 1`) on each subflow, in native code. Pass the class
    itself wherever a spec has `cc`.
    Each connection gets an object of its own, created without arguments at the connection's first
    event, so parameters are attributes of the class. Only the packet level supports it, on one
    thread.

    An event names the subflow `s` on which it happened. `w` holds the windows of all subflows. An
    algorithm may change `cwnd`, `ssthresh` and `active` of any of them during an event. On one
    acknowledgement the order is `on_round`, `on_ack`, then `on_mark` or `on_loss`.

    Without `echo` packets are not ECN-capable, as those of the native Reno: queues never mark them,
    and drop them at their limits. A class that handles marks has to set it.

    Fields of a window `w[s]`, of which an algorithm may change the first three:

    | field | unit | meaning |
    |---|---|---|
    | `cwnd` | packets | congestion window, above 0; below 1, a packet at a time leaves every `srtt / cwnd` |
    | `ssthresh` | packets | slow-start threshold; infinite before the first cut, unless the profile says otherwise |
    | `active` | bool | whether the scheduler may give this subflow new data |
    | `established` | bool | whether the handshake is complete and the subflow is not closed |
    | `in_recovery` | bool | whether the subflow recovers from a loss or a timeout |
    | `srtt` | seconds | smoothed round-trip time; 0 before the first sample |
    | `min_rtt` | seconds | smallest round-trip time; 0 before the first sample |
    | `prior_cwnd`, `prior_ssthresh` | packets | before the last loss or timeout that may prove spurious, or 0 |

    Fields of `ack` and `round`, which are for reading:

    | field | unit | meaning |
    |---|---|---|
    | `ack.acked` | packets | newly delivered; 0 for a plain duplicate |
    | `ack.marked` | packets | reported as marked; an error without `echo` |
    | `ack.may_grow` | bool | whether the window may grow |
    | `ack.rtt` | seconds | sample of the round-trip time; None if the acknowledgement gives none |
    | `ack.now` | seconds | time since the connection opened |
    | `round.acked` | packets | acknowledged in the round |
    | `round.marked` | packets | marked packets among these; an error without `echo` |

    An exception ends the run and reaches the caller of `weft.run` with its own traceback.
    """

    name: ClassVar[str] = "CongestionControl"
    """Name in tables and manifest; by default the name of the class."""

    echo: ClassVar[Echo | None] = None
    """Echo of marks: `off`, not ECN-capable; `classic`, RFC 3168; `dctcp`, RFC 8257; `count`, XMP."""

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - as a class statement has them
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = cls.__name__
        if not (isinstance(cls.name, str) and cls.name.isprintable() and cls.name.strip()):
            raise UsageError(f"{cls.__name__}.name: {cls.name!r}; allowed: a non-empty name")
        if cls.echo not in (None, *get_args(Echo)):
            raise UsageError(f"{cls.__name__}.echo: {cls.echo!r}; allowed: {', '.join(get_args(Echo))}")
        for event in EVENTS:
            _check_method(f"{cls.__name__}.{event}", getattr(cls, event))
        if cls.echo is None and cls.on_mark is not CongestionControl.on_mark:
            allowed = ", ".join(get_args(Echo))
            raise UsageError(f"{cls.__name__}.echo: not set, and on_mark handles marks; allowed: {allowed}")
        for name, value in vars(cls).items():
            if callable(value) and name not in EVENTS and _looks_like_an_event(name):
                raise UsageError(f"{cls.__name__}.{name}: not an event; allowed: {', '.join(EVENTS)}")

    def on_open(self, w: tuple[Window, ...], s: int) -> None:
        """Handles the completed handshake of subflow `s`; `w[s].established` is already set."""

    def on_ack(self, w: tuple[Window, ...], s: int, ack: Ack) -> None:
        """Handles an acknowledgement. Windows grow here, if `ack.may_grow` is true."""
        if ack.may_grow:
            left = w[s].slow_start(ack.acked)
            w[s].cwnd += left / w[s].cwnd

    def on_mark(self, w: tuple[Window, ...], s: int) -> None:
        """Handles the first mark of a window. A class that overrides it sets `echo`.

        The next call comes only after everything in flight at this time is acknowledged.
        """
        _halve(w[s])

    def on_round(self, w: tuple[Window, ...], s: int, round: Round) -> None:  # noqa: A002 - it is one
        """Handles the end of a round of subflow `s`: all data in flight at its start is acknowledged."""

    def on_loss(self, w: tuple[Window, ...], s: int) -> None:
        """Handles a loss found by acknowledgements, once per recovery. Sets `ssthresh` and `cwnd`."""
        _halve(w[s])

    def on_timeout(self, w: tuple[Window, ...], s: int, first: bool) -> None:  # noqa: FBT001 - Weft calls it
        """Handles a retransmission timeout, which is the `first` one for this segment or not.

        Sets `cwnd` and, if `first`, `ssthresh`.
        """
        if first:
            w[s].ssthresh = max(w[s].cwnd / 2.0, 2.0)
        w[s].cwnd = 1.0

    def on_undo(self, w: tuple[Window, ...], s: int) -> None:
        """Undoes the last loss or timeout of subflow `s`, which proved spurious.

        `w[s].prior_cwnd` and `w[s].prior_ssthresh` are the window before that loss or timeout.
        """
        w[s].cwnd = max(w[s].cwnd, w[s].prior_cwnd)
        w[s].ssthresh = max(w[s].ssthresh, w[s].prior_ssthresh)

    def on_close(self, w: tuple[Window, ...], s: int) -> None:
        """Handles the close of subflow `s`; `w[s].established` is already cleared."""

    def pacing_rate(self, w: tuple[Window, ...], s: int) -> float | None:  # noqa: ARG002 - for those who override it
        """Returns the pacing rate of subflow `s` in packets per second, above 0, or None for no pacing of its own.

        Called whenever a packet leaves.

        Changes to `w` are kept.
        """
        return None


def _check_method(where: str, method: object) -> None:
    """Checks that the simulator can call a method and use its result.

    Raises:
        UsageError: The value is not a method, or its call only returns a coroutine or a generator.
    """
    if not callable(method):
        raise UsageError(f"{where}: not a method; define a method or remove it")
    if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
        raise UsageError(f"{where}: an async method; define a plain method")
    if inspect.isgeneratorfunction(method):
        raise UsageError(f"{where}: a generator, because it has yield; define a plain method")


def _looks_like_an_event(name: str) -> bool:
    """Returns whether a method was probably meant to override an event."""
    return name.startswith("on_") or bool(difflib.get_close_matches(name, EVENTS, n=1, cutoff=0.8))


def _halve(window: Window) -> None:
    window.ssthresh = max(window.cwnd / 2.0, 2.0)
    window.cwnd = window.ssthresh


Own = tuple[type[CongestionControl], str, str | None, list[str]]


def is_own(value: object) -> bool:
    """Returns whether a value is a class of congestion control."""
    return isinstance(value, type) and issubclass(value, CongestionControl)


def own_algorithms(values: Iterable[object]) -> list[Own]:
    """Returns those values of `cc` in a spec that are classes, in the form that the simulator takes.

    Raises:
        SpecError: Two classes have one name, or a class has the name of a built-in algorithm.
    """
    classes = list(dict.fromkeys(value for value in values if is_own(value)))
    if not classes:
        return []
    from weft.api import registry

    taken: dict[str, str] = {listing["name"]: "an algorithm that is built in" for listing in registry()["algorithms"]}
    found: list[Own] = []
    for own in classes:
        assert isinstance(own, type)  # noqa: S101 - is_own has looked
        assert issubclass(own, CongestionControl)  # noqa: S101
        if own.name in taken:
            line = f"cc: {own.__qualname__} has the name {own.name!r} of {taken[own.name]}; give it another `name`"
            raise SpecError(line)
        taken[own.name] = "another class"
        overridden = [event for event in EVENTS if getattr(own, event) is not getattr(CongestionControl, event)]
        found.append((own, own.name, own.echo, overridden))
    return found


def import_path(own: type[CongestionControl]) -> tuple[str, str] | None:
    """Returns the module and the name by which other processes can import a class; None if they cannot.

    They cannot import what a script, a notebook or a function defines.
    """
    module = sys.modules.get(own.__module__)
    if own.__module__ == "__main__" or getattr(module, "__file__", None) is None:
        return None
    path = own.__module__, own.__qualname__
    return path if imported(*path) is own else None


def imported(module: str, name: str) -> object:
    """Returns what a module calls by this name, or None."""
    found: object = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def own_of(experiment: object, others: Iterable[object] = ()) -> list[Own]:
    """Returns the classes in an experiment, or in a spec whose parts may be models, and `others`; a path has none."""
    transports = _field(experiment, "transports")
    named = transports.values() if isinstance(transports, Mapping) else ()
    return own_algorithms([*(_field(transport, "cc") for transport in named), *others])


def _field(part: object, name: str) -> object:
    return part.get(name) if isinstance(part, Mapping) else getattr(part, name, None)
