"""`tirscript demo` shows what it found, and fails where something does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from tirscript.cli import COMMANDS, commands, demo, main
from tirscript.cli.output import duration
from tirscript.testing import examples


def run(*arguments: str) -> Any:
    return CliRunner().invoke(commands, arguments)


def test_every_kernel_is_shown_with_all_steps() -> None:
    result = run("demo", "--quick", "grow", "vector_add")
    assert result.exit_code == 0, result.output
    head, _, rows = result.output.partition("\n")
    assert head.split()[:4] == ["kernel", "parsed", "round", "trip"]
    _, grow, vector_add, *_ = rows.splitlines()
    assert grow.split()[:1] + grow.split()[3:5] == ["grow", "exact", "yes"]
    assert vector_add.split()[:1] + vector_add.split()[3:5] == ["vector_add", "exact", "yes"]
    assert "2 kernels: parsed, round trip exact, verified, interpreter = native = numpy." in result.output


def test_one_kernel_is_transformed_and_printed_again() -> None:
    output = run("demo", "--quick", "crop").output
    assert '-        with T.block("crop"):' in output
    assert "+        if io * 4 + ii < 14:" in output
    assert "Read again, it is the same program." in output


def test_an_unknown_example_is_refused() -> None:
    result = run("demo", "zzz")
    assert result.exit_code == 2
    assert "there is no example 'zzz'; there are addone, bit_hash" in result.output
    assert "there is no example 'matmull'; did you mean 'matmul'?" in run("demo", "matmull").output


@pytest.mark.parametrize(
    ("name", "replacement", "word"),
    [
        ("round_trip", lambda kernel: False, "DIFFERS"),
        ("verified", lambda kernel: False, "NO"),
        ("largest_error", lambda left, right: 1.0, "DIFFERS 1.0e+00"),
    ],
)
def test_what_does_not_hold_is_shown_and_fails(
    name: str, replacement: Callable[..., Any], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, name, replacement)
    result = run("demo", "--quick", "grow")
    assert result.exit_code == 1
    assert word in result.output
    assert "failed: grow" in result.output


def test_a_wrong_kernel_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {example.name: example for example in examples()}
    wrong = found["grow"]._replace(reference=lambda A, B: None)
    monkeypatch.setattr(demo, "examples", lambda: [wrong])
    result = run("demo", "--quick")
    assert result.exit_code == 1
    assert "DIFFERS" in result.output


def test_help_names_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"  {name}" in result.output


def test_a_misspelt_command_is_suggested() -> None:
    result = run("dmo")
    assert result.exit_code == 2
    assert "there is no command 'dmo'; did you mean 'demo'?" in result.output
    for word, meant in (("check", "lint"), ("compile", "build"), ("help", "--help")):
        assert f"there is no command '{word}'; did you mean '{meant}'?" in run(word).output


def test_durations_have_units() -> None:
    shown = [duration(seconds) for seconds in (2.5, 0.0123, 45.6e-6, 4.46e-8)]
    assert shown == ["2.5 s", "12.3 ms", "45.6 us", "44.6 ns"]


def test_times_are_of_fresh_arguments() -> None:
    import numpy as np

    seen: list[int] = []

    def function(array: np.ndarray) -> None:
        seen.append(int(array[0]))
        array[0] = 7

    given = [np.zeros(4, "int32")]
    times = demo.times([function], given, 2)
    assert len(times) == 1 and times[0] > 0
    assert set(seen) == {0} and given[0][0] == 0


def test_the_console_script_shows_diagnostics_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tirscript.ir import DiagnosticError, error

    def fail(kernel: Any) -> bool:
        raise DiagnosticError([error("T499", "no luck")])

    monkeypatch.setattr("sys.argv", ["tirscript", "demo", "--quick", "grow"])
    monkeypatch.setattr(demo, "round_trip", fail)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error[T499]: no luck\n"


def test_a_terminal_gets_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    report = demo.Report("grow", 9, 23, True, False, 0.0, 0.5, 0.0, 0.0, 1e-6, 2e-6)
    assert not report.passed
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    demo.table([report])
    shown = capsys.readouterr().out
    assert "grow" in shown and "NO" in shown and "DIFFERS" in shown and "2.00" in shown and "\x1b[" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    demo.table([report])
    shown = capsys.readouterr().out
    assert "grow" in shown and "\x1b[" not in shown
