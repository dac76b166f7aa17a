"""Exceptions, whose messages are one line: the path of the error, the given value, the allowed ones."""

from __future__ import annotations


class WeftError(Exception):
    """The base of all errors that Weft reports."""


class SpecError(WeftError, ValueError):
    """A spec is wrong. The message has the field's path, the given value and the allowed ones."""


class RunError(WeftError):
    """A valid spec cannot be simulated, or an option of the run is out of range."""


class RequirementError(WeftError):
    """This machine lacks something that the experiment's level needs, such as root or a feature of the kernel."""


class OutputError(WeftError):
    """Results cannot be written: the folder exists already, or is not writable."""


class UsageError(WeftError, ValueError):
    """An argument is wrong, such as a measure or a figure that does not exist."""


class NotAFolderError(UsageError, FileNotFoundError):
    """A folder is missing, or is not that of a run or a sweep."""

    def __str__(self) -> str:
        """Returns the message, which is not that of a system call."""
        return str(self.args[0])


class StoppedError(WeftError):
    """Ctrl-C stopped the work. The message says which results exist."""


class InternalError(WeftError):
    """The simulator contradicts itself, for instance because conservation does not hold: a bug in Weft."""


class ResultWarning(UserWarning):
    """A warning about the results of a run, such as rates that are not an equilibrium.

    The manifest has it too.
    """
