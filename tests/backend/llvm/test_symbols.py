"""What object files need of others."""

from __future__ import annotations

import pytest

from tirscript.backend.llvm.compiling import object_of
from tirscript.backend.llvm.host import host
from tirscript.backend.llvm.linking import executable
from tirscript.backend.llvm.symbols import undefined
from tirscript.ir import DiagnosticError

CALLS = """
declare i32 @{0}()
define i32 @{1}() {{
  %r = call i32 @{0}()
  ret i32 %r
}}
"""


def made(calls: str, name: str) -> bytes:
    return object_of(CALLS.format(calls, name), host(), 2)


pytestmark = pytest.mark.skipif(made("getpid", "f")[:4] != b"\x7fELF", reason="the system has another format")


def test_files_may_call_each_other() -> None:
    first, second = made("second_one", "first_one"), made("getpid", "second_one")
    assert undefined([first]) == {"second_one"} and undefined([second]) == {"getpid"}
    assert undefined([first, second]) == {"getpid"}
    assert executable([first, second], host(), 2).get_function_address("first_one")


def test_code_that_calls_what_is_not_there_is_not_linked() -> None:
    """LLVM would link address 0, and the call would end the process."""
    with pytest.raises(DiagnosticError, match=r"T499.*calls `nobody_has_this`, which this process does not have"):
        executable([made("nobody_has_this", "f")], host(), 2)


def test_other_formats_are_not_read() -> None:
    assert undefined([b"", b"\x7fELF\x01\x01" + bytes(60), b"\xcf\xfa\xed\xfe"]) == set()
