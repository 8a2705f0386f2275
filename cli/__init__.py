"""The command line. A command is one file of this folder with a click command `command`, found by the table below."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

# name of the command -> the module that holds it, and what `tirscript --help` says of it
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Take every example from its source to native code and back, and show that each step holds."),
}


class Commands(click.Group):
    """The commands of the table; each is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"{__name__}.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click does, with the nearest name where there is none."""
        from tirscript.ir import suggest

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = suggest(args[0], COMMANDS)
            ctx.fail(f"there is no command {args[0]!r}" + (f"; did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tirscript", prog_name="tirscript")
def commands() -> None:
    """tirscript: tensor programs as Python source you can read, transform and run."""


def main() -> None:
    """The console script: the exit status is 1 where the command found something wrong."""
    from tirscript.ir import DiagnosticError

    try:
        commands(prog_name="tirscript")
    except DiagnosticError as error:
        print(str(error).strip(), file=sys.stderr)
        sys.exit(1)
