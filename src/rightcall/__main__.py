"""`rightcall`, and `python -m rightcall`: Ctrl-C ends it quietly from the first moment, imports included."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line."""
    try:
        from rightcall.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
