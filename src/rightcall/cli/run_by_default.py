"""Groups of commands whose main one needs no name: `rightcall eval SUITE` means `rightcall eval run SUITE`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class RunByDefault(TyperGroup):
    """A group that takes arguments that begin with no subcommand as those of `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `run` before them."""
        if args and args[0] not in self.commands and args[0] not in {"--help", "-h"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)
