"""What can go wrong. Every message is one line that says where, what was given and what is allowed."""


class WeftError(Exception):
    """Anything that Weft reports."""


class SpecError(WeftError, ValueError):
    """A spec is wrong: field path, what was given, what is allowed."""


class RunError(WeftError):
    """A right spec that cannot be simulated, or an option of the run out of range."""


class MissingError(WeftError):
    """This machine lacks something that the experiment's level needs, such as root or a kernel's feature."""


class OutputError(WeftError):
    """Results cannot be written: the folder exists, or the place cannot be written to."""


class UsageError(WeftError):
    """A command's argument is wrong in a way its parser cannot see, such as a figure that does not exist."""


class StoppedError(WeftError):
    """Ctrl-C stopped the work; the message says what there is of it."""


class InternalError(WeftError):
    """The simulator contradicts itself, as when conservation does not hold: a bug in Weft."""
