"""The command line. A command is one file of this folder with a click command `command`, found by the table below."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

# name of the command -> the module that holds it, and what `tirscript --help` says of it
COMMANDS: dict[str, tuple[str, str]] = {
    "print": ("print_", "Print the programs of files, in this language or for apache-tvm."),
    "fmt": ("fmt", "Write kernels the way they are printed, the rest of the file as it is."),
    "diff": ("diff", "Compare the programs of two files; for git too."),
    "textconv": ("textconv", "Print what git should compare of a file."),
    "roundtrip": ("roundtrip", "Check that programs print to text that reads as the same program."),
    "lint": ("lint", "Find mistakes and what is probably one."),
    "opt": ("opt", "Apply passes to the programs of a file."),
    "run": ("run", "Run a kernel on random or given arrays."),
    "bench": ("bench", "Measure how long a kernel takes."),
    "build": ("build", "Compile, and show entry points, LLVM IR or assembly."),
    "view": ("view", "Write a page that shows what each pass does, down to assembly."),
    "graph": ("graph", "Draw graph functions for Graphviz, with shapes on the edges."),
    "cache": ("cache", "Show or empty the cache of compiled kernels."),
    "demo": ("demo", "Take every example from its source to native code and back, and show that each step holds."),
    "passes": ("passes", "List the passes with their options."),
    "targets": ("targets", "List what programs can be built for, and what a target says."),
    "ops": ("ops", "List the operators and intrinsics of T."),
    "explain": ("explain", "Explain a diagnostic code, with an example."),
}
# exit codes beside 0, 1 (something is wrong with the input) and 2 (usage)
INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 70, 130, 141
_NOT_WRITTEN = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))


# what other tools call some of the commands
_ELSEWHERE = {
    "check": "lint",
    "compile": "build",
    "format": "fmt",
    "exec": "run",
    "benchmark": "bench",
    "help": "--help",
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
            near = _ELSEWHERE.get(args[0]) or suggest(args[0], COMMANDS)
            ctx.fail(f"there is no command {args[0]!r}" + (f"; did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """As click does, which writes what `--help` and `--version` tell here, and ends with 1 at a closed pipe."""
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            _forget_output()
            sys.exit(BROKEN_PIPE)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whatever it raises becomes a message and an exit status, never a traceback."""
        try:
            return self._invoke(ctx)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            ctx.exit(INTERRUPTED)

    def _invoke(self, ctx: click.Context) -> Any:
        from tirscript.ir import DiagnosticError

        # programs are UTF-8, and names of files may hold bytes that are not
        _encode(sys.stdout, "surrogateescape")
        _encode(sys.stderr, "backslashreplace")
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except DiagnosticError as problem:
            from .output import report

            report(problem)
            ctx.exit(1)
        except AssertionError as problem:
            found = getattr(problem, "diagnostics", None)
            if found is None:
                _internal_error(ctx, problem)
            from .output import report

            report(found)  # an `assert` of a program that was run
            ctx.exit(1)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            _forget_output()
            ctx.exit(BROKEN_PIPE)
        except Exception as problem:
            if _is_full(problem):
                raise
            _internal_error(ctx, problem)


def _encode(stream: Any, errors: str) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors=errors)


def _is_full(problem: Exception) -> bool:
    """Whether standard output could not be written: commands tell by its name of any other file that cannot be."""
    return isinstance(problem, OSError) and problem.filename is None and problem.errno in _NOT_WRITTEN


def _forget_output() -> None:
    """Whoever read our output has gone: what is still buffered must not be written when Python ends."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _internal_error(ctx: click.Context, problem: Exception) -> NoReturn:
    """A fault of ours: say what happened and ask for a report."""
    import traceback

    frames = traceback.extract_tb(problem.__traceback__)
    where = f" (in {frames[-1].name}, {os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    command = " ".join(filter(None, (ctx.info_name, ctx.invoked_subcommand)))
    lines = [
        f"internal error: {type(problem).__name__}: {problem}{where}",
        "  = note: this is a fault of tirscript, not of your program",
        f"  = help: please report it with the file, this message and the command `{command}`",
    ]
    if os.environ.get("TIRSCRIPT_TRACEBACK"):
        lines.append("".join(traceback.format_exception(problem)).rstrip())
    else:
        lines.append("  = help: TIRSCRIPT_TRACEBACK=1 shows where it happened")
    print("\n".join(lines), file=sys.stderr)
    ctx.exit(INTERNAL_ERROR)


EPILOG = """\b
Examples:
  tirscript print kernel.py                what a file defines, in its printed form
  tirscript opt kernel.py --passes=default --print-changed
  tirscript run kernel.py:matmul --random --size n=64 --check
  tirscript lint src/                      mistakes, as an editor or CI reads them
  tirscript explain T203                   what a code means

Files are read and never run. `-` is standard input, FILE:name one function of a file. Exit status: 0, 1 where something
is wrong with what was given, 2 for a wrong command line, 70 for a fault of tirscript. NO_COLOR and FORCE_COLOR are
respected."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(None, "--version", "-V", package_name="tirscript", prog_name="tirscript")
def commands() -> None:
    """tirscript: tensor programs as Python source you can read, transform and run."""


def main() -> None:
    """The console script."""
    # a stream that was closed before (`>&-`) is wanted by nobody; Python would print errors to the other one
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (open to the end)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 (open to the end)
    try:
        try:
            commands(prog_name="tirscript")
        finally:
            sys.stdout.flush()  # `--help` may be all that is written
    except KeyboardInterrupt:  # before or after a command
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _forget_output()
        sys.exit(BROKEN_PIPE)
    except OSError as problem:
        if not _is_full(problem):
            raise
        _forget_output()
        print(f"error[T002]: standard output cannot be written: {problem.strerror}", file=sys.stderr)
        sys.exit(1)
