"""LLVM IR and assembly whose lines know their statements."""

from __future__ import annotations

import re

import pytest

from tirscript import ir
from tirscript.backend.llvm import emit_assembly, emit_ir
from tirscript.backend.llvm.located import _read_assembly, _read_ir, locate
from tirscript.ir import DiagnosticError, Module, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import parse
from tirscript.testing import examples

KERNELS = {example.name: DEFAULT_LOWERING(example.kernel) for example in examples()}
HEAD = "from tirscript.script import tir as T\n\n\n@T.prim_func\n"


def statements(func):
    return {id(node): at for at, node in enumerate((node for node in walk(func) if isinstance(node, ir.Stmt)), start=1)}


@pytest.mark.parametrize("name", ["matmul", "softmax", "stencil", "bit_hash"])
def test_locations_change_no_instruction(name):
    """What is shown is the very code that is run."""
    code = locate(KERNELS[name], statements(KERNELS[name]))
    assert code.assembly.lines == _read_assembly(emit_assembly(KERNELS[name])).lines
    plain = [re.sub(r"!\d+", "!", line) for line in _read_ir(emit_ir(KERNELS[name])).lines if not line.startswith("!")]
    shown = [re.sub(r"!\d+", "!", line) for line in code.optimized.lines if not line.startswith("!")]
    assert [line for line in shown if line] == [line for line in plain if line]


def test_every_instruction_that_is_written_has_a_statement():
    func = KERNELS["matmul"]
    code = locate(func, {**statements(func), id(func): 1000})
    for line, number in zip(*code.written, strict=True):
        assert bool(number) == line.startswith("  "), line


def test_instructions_belong_to_the_statement_that_made_them():
    func = parse(
        HEAD
        + """def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(64):
        A[i] = A[i] * T.float32(3)
        B[i] = B[i] // 7
    if n > 3:
        A[0] = A[0] + T.float32(5)
"""
    )
    loop, branch = func.body
    numbers = {id(func): 1, id(loop): 2, id(loop.body[0]): 3, id(loop.body[1]): 4, id(branch): 5, id(branch.then[0]): 6}
    code = locate(func, numbers)
    written = list(zip(*code.written, strict=True))

    def of(pattern, located=written):
        return {number for line, number in located if re.search(pattern, line)}

    assert of(r"fmul") == {3} and of(r"s?div|srem") == {4} and of(r"fadd") == {6}
    assert of(r"phi i64") == {2} and of(r"icmp s[gl]t i32 (3,|.*, 3$)") == {5} and of(r"ret i32 0") == {1}
    optimized = list(zip(*code.optimized, strict=True))
    assert of(r"fmul", optimized) <= {0, 3} and 3 in of(r"fmul", optimized)
    assembly = list(zip(*code.assembly, strict=True))
    assert {number for _, number in assembly} >= {3, 4, 6}
    assert of(r"^\S+:", assembly) == {0}


def test_a_statement_without_a_number_counts_to_the_one_around():
    func = KERNELS["addone"]
    loop = next(node for node in walk(func) if isinstance(node, ir.For))
    code = locate(func, {id(loop): 7})
    assert {number for line, number in zip(*code.written, strict=True) if "fadd" in line or "store" in line} == {7}


def test_nothing_of_the_locations_is_left_in_the_texts():
    code = locate(KERNELS["matmul"], statements(KERNELS["matmul"]))
    text = "\n".join([*code.written.lines, *code.optimized.lines, *code.assembly.lines])
    for word in ("!dbg", "DILocation", "DISubprogram", "Dwarf", ".loc", ".debug", "Ltmp", ".cfi"):
        assert word not in text
    assert all(len(part.lines) == len(part.numbers) for part in (code.written, code.optimized, code.assembly))


def test_a_function_of_assembly_does_not_begin_with_the_line_of_the_one_before():
    text = """\t.text
f:
\t.loc\t1 7 0
\tretq
\t.size\tf, .Lfunc_end0-f
g:
.Lfunc_begin1:
\tpushq\t%rbp
\t.loc\t1 9 0
\tretq
\t.section\t.debug_info,"",@progbits
\t.long\t1
"""
    assert list(zip(*_read_assembly(text), strict=True)) == [
        ("\t.text", 0),
        ("f:", 0),
        ("\tretq", 7),
        ("\t.size\tf, .Lfunc_end0-f", 0),
        ("g:", 0),
        ("\tpushq\t%rbp", 0),
        ("\tretq", 9),
    ]


def test_functions_that_call_each_other_and_names_of_all_kinds():
    text = """from tirscript.script import ir as I, tir as T


@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i] * T.float32(2)

    @T.prim_func
    def größe(A: T.Buffer((8,), "float32")):
        M.scale(A)
        M.scale(A)
"""
    module = parse(text)
    assert isinstance(module, Module)
    lowered = DEFAULT_LOWERING(module)
    code = locate(lowered, {key: at for func in lowered for key, at in statements(func).items()})
    assert set(code.symbols) == {"scale", "größe"}
    assert any("call" in line and number for line, number in zip(*code.written, strict=True))


def test_what_cannot_be_compiled_is_a_diagnostic():
    example = next(example for example in examples() if example.name == "matmul")
    with pytest.raises(DiagnosticError, match="must be lowered"):
        locate(example.kernel, {})
