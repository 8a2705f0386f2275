"""The definitions of a Python file that holds other Python."""

from __future__ import annotations

import pytest

from tirscript.ir import DiagnosticError, Module, PrimFunc, structural_equal
from tirscript.script import extract, parse, parse_all, parse_python
from tirscript.testing import examples

KERNEL = """@T.prim_func
def f(A: T.Buffer((N,), "float32")):
    for i in range(N):
        A[i] = 1.0
"""


def first(text: str) -> DiagnosticError:
    with pytest.raises(DiagnosticError) as caught:
        parse_python(text, filename="k.py")
    return caught.value


def test_the_examples_are_read_without_running_them() -> None:
    import importlib
    from pathlib import Path

    read = 0
    for example in examples():
        path = Path(str(importlib.import_module(f"tirscript.examples.{example.name}").__file__))
        text = path.read_text()
        if f"@T.prim_func\ndef {example.name}(" in text:  # others are made by schedules, which is Python that runs
            found = parse_python(text)
            assert structural_equal(found[example.name], example.kernel)
            read += 1
    assert read >= 14


def test_values_that_definitions_use_are_read_and_others_are_not() -> None:
    text = f"import os\n\nM = N = 4\nP, Q = 2, os.getpid()\nX = os.getpid()\n{KERNEL}"
    func = parse_python(text)["f"]
    assert isinstance(func, PrimFunc)
    assert func.params[0].shape[0].value == 4  # type: ignore[union-attr]


def test_values_that_use_values() -> None:
    func = parse_python(f"B = 2\nunused = open('x')\nN = B * 8; C = 3\n{KERNEL}")["f"]
    assert func.params[0].shape[0].value == 16  # type: ignore[union-attr]


def test_values_that_are_called_like_what_a_definition_makes_itself_are_not_read() -> None:
    made = "A, i, x, out, s, e = (open('x') for _ in range(6))"
    names = "\n".join(f"{name} = open('x')" for name in ("A", "i", "x", "y", "out", "vi", "v"))
    text = f"""{made}
{names}
r = [open(v) for v in "x" for N in "y"]


@T.macro
def put(out, value):
    out[0] = value


@I.ir_module
class M:
    @T.prim_func
    def f(A: T.Buffer((N,), "float32")):
        for i in range(N):
            with T.block("b"):
                vi = T.axis.spatial(N, i)
                x = A[vi]
                y: T.let[T.float32] = x
                A[vi] = y
        put(A, 1.0)


N = 4
"""
    assert isinstance(parse_python(text.replace("N = 4\n", "").replace("r = [", "N = 4\nr = ["))["M"], Module)


def test_a_value_that_is_used_before_a_definition_assigns_its_name_is_read() -> None:
    text = "n, m, k = 3, 4, 5\n" + KERNEL.replace("N,", "n,").replace(
        "range(N)", "range(m):\n        m = i\n    for k in range(k)"
    ).replace("A[i]", "A[k]")
    func = parse_python(text)["f"]
    assert isinstance(func, PrimFunc)
    assert "range(4)" in func.script() and "range(5)" in func.script() and "(3,)" in func.script()


def test_a_value_over_several_lines_and_one_that_changes() -> None:
    other = KERNEL.replace("def f", "def g")
    found = parse_python(f"N = (\n    1 +\n    2\n)\n{KERNEL}N = 5\n{other}")
    assert [func.params[0].shape[0].value for func in found.values()] == [3, 5]  # type: ignore[union-attr]


def test_what_python_makes_is_told_where_it_is_made() -> None:
    error = first(f"import os\n\ndef size():\n    return 4\n\nN = size()\n{KERNEL}")
    (found,) = [one for one in error.diagnostics if "size" in one.message]
    assert found.code == "T010" and found.span is not None and found.span.line == 6
    assert "`size` is made here by Python, which is not run" in str(error) and "k.py:3:1" in str(error)


def test_names_of_other_imports_are_told() -> None:
    error = first(f"import numpy as np\nN = np.prod([2, 2])\n{KERNEL}")
    assert "k.py:1:1" in str(error) and "`np` is made here by Python" in str(error)


def test_lines_stay_at_their_places() -> None:
    error = first(f"'''doc'''\nimport sys\n\nprint('x')\nN = 4\n\n\n{KERNEL.replace('1.0', 'y')}")
    assert error.diagnostics[0].span is not None and error.diagnostics[0].span.line == 11


def test_a_text_of_the_language_alone_is_read_as_parse_all_reads_it() -> None:
    text = f"# license\n\nfrom tirscript.script import tir as T\n\nN = 4\n\n\n# about f\n{KERNEL}    # end\n"
    found, wanted = parse_python(text)["f"], parse_all(text)["f"]
    assert found.script() == wanted.script() and "# license" in found.script()


def test_comments_right_above_a_definition_are_kept_among_other_python() -> None:
    text = f"import os\n# about os\nos.getpid()\n\n# about f\n# more\n{KERNEL}    # end\n# else\nos.getpid()\nN = 3\n"
    found = extract("N = 4\n" + text)
    assert found.text.split("\n")[5:7] == ["# about f", "# more"]
    assert "# end" in found.text and "# about os" not in found.text and "# else" not in found.text
    printed = found.definitions()["f"].script()
    assert "# about f\n# more\n@T.prim_func" in printed and "    # end" in printed


@pytest.mark.parametrize(
    "head",
    [
        "from tirscript.script import tir as T, parse, ir as I",
        "import tirscript, numpy as np\nimport tirscript.testing\nT = tirscript.script.tir",
        "from tirscript.script import (\n    tir as T,\n    parse,\n)",
        "import numpy as np; from tirscript.script import tir as T",
        "from __future__ import annotations",
    ],
)
def test_imports(head: str) -> None:
    assert list(parse_python(f"{head}\nN = 4\n{KERNEL}")) == ["f"]


def test_other_names_of_the_language() -> None:
    text = KERNEL.replace("T.", "lang.").replace("N", "4")
    assert list(parse_python(f"import os\nfrom tirscript.script import tir as lang\n{text}")) == ["f"]
    bare = KERNEL.replace("@T.prim_func", "@prim_func").replace("N", "4")
    head = "import os\nfrom tirscript import prim_func, build\nfrom tirscript.script import tir as T\n"
    assert list(parse_python(f"{head}{bare}")) == ["f"]


def test_decorators_of_others_are_passed_over_and_misspelt_ones_told() -> None:
    text = f"import functools\n\n@functools.cache\ndef g():\n    pass\n\n@property\nclass C: pass\n\nN = 4\n{KERNEL}"
    assert list(parse_python(text)) == ["f"]
    error = first(f"import os\nN = 4\n{KERNEL.replace('prim_func', 'prim_fun')}")
    assert "prim_fun" in str(error) and "prim_func" in str(error)


def test_decorators_of_others_above_a_program_take_it() -> None:
    text = f"import functools\nN = 4\n@functools.cache\n# of the kernel\n@print\n{KERNEL}"
    found = extract(text)
    assert list(found.definitions()) == ["f"] and "print" not in found.text
    assert text.split("\n")[found.places["f"].first - 1] == "@T.prim_func"
    below = KERNEL.replace("@T.prim_func\n", "@T.prim_func\n@print\n")
    assert "`@T.prim_func`" in str(first(f"N = 4\n{below}")) and "leave this one out" in str(first(f"N = 4\n{below}"))


def test_macros_and_modules() -> None:
    text = """import os
from tirscript.script import ir as I, tir as T

K = 3

@T.macro
def put(A, i):
    A[i] = K

print(os)

@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        put(A, 2)
"""
    found = extract(text)
    assert list(found.places) == ["M"] and len(found.definitions_at) == 2
    module = found.definitions()["M"]
    assert isinstance(module, Module) and "A[2] = 3" in module.script()


def test_a_file_of_tvm_among_other_python() -> None:
    text = """import numpy as np
from tvm.script import tir as T

np.zeros(3)

@T.prim_func
def f(A: T.Buffer((4,), "int8")):
    for i in range(4):
        A[i] = A[i] + T.int64(1)
"""
    found = extract(text)
    assert found.tvm and "cast" in found.definitions()["f"].script()
    text = text.replace("from tvm.script import tir as T", "import tvm.script.parser.tir as S").replace("T.", "S.")
    assert "T.cast" in extract(text).definitions()["f"].script()


@pytest.mark.parametrize(
    "line",
    [
        "from tvm import te, tirx",
        "from tvm import tir as tirx",
        "import tvm.tirx as tirx",
        "import os, tvm.tir as tirx",
    ],
)
def test_parts_of_tvm_that_a_definition_uses(line: str) -> None:
    program = '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = {}(A[1])\n'
    header = "import torch\nfrom tvm.script import tirx as T\n"
    found = parse_python(f"{header}{line}\ntorch.manual_seed(0)\n{program.format('tirx.exp')}")
    assert structural_equal(found["f"], parse(f"from tvm.script import tirx as T\n{program.format('T.exp')}"))


def test_names_that_are_defined_again() -> None:
    assert not extract(f"N = 4\n{KERNEL}").repeated
    assert extract(f"N = 4\n{KERNEL}{KERNEL}").repeated
    assert "defined twice" in str(first(f"N = 4\n{KERNEL}{KERNEL}"))


def test_nothing_to_find() -> None:
    assert extract("x = 1\n").places == {}
    with pytest.raises(DiagnosticError, match=r"x\.py is empty"):
        parse_python("\n", filename="x.py")
    message = str(first("def f():\n    pass\n"))
    assert "k.py defines no function and no module" in message and "`@T.prim_func` or `@G.graph_func`" in message


def test_what_is_no_python() -> None:
    assert first("def f(:\n").diagnostics[0].code == "T001"


def test_line_ends_and_marks() -> None:
    text = f"\ufeffimport os\r\nN = 4\r\n{KERNEL}".replace("\n", "\r\n").replace("\r\r", "\r")
    assert structural_equal(parse_python(text)["f"], parse(f"N = 4\n{KERNEL}"))
