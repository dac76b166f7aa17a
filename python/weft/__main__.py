"""The entry point of `python -m weft` and of the command `weft`."""

import signal
import sys

# Until the command can say in one line that it was stopped, Ctrl-C just ends the process.
_IS_COMMAND = __name__ == "__main__" or sys.argv[0].endswith("weft")
if _IS_COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Runs the command and ends the process."""
    from weft import cli

    cli.main()


if __name__ == "__main__":
    main()
