"""Hostile texts, and the process that reads them under limits: `python hostile.py` prints what became of each as JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HEADER = "from tirscript.script import ir as I, tir as T\n\n\n"
HEAD = f'{HEADER}@T.prim_func\ndef f(A: T.Buffer((16,), "float32"), n: T.int32):\n'
MEGABYTES = 1024


def body(text: str) -> str:
    """A function with this body."""
    return HEAD + "".join(f"    {line}\n" for line in text.split("\n"))


def macros(count: int, calls: int, last: str = "A[0] = 1.0") -> str:
    """Macros each of which calls the next several times."""
    text = HEADER
    for at in range(count):
        inner = f"m{at + 1}(A)" if at + 1 < count else last
        text += f"@T.macro\ndef m{at}(A):\n" + f"    {inner}\n" * calls + "\n\n"
    return text + HEAD.removeprefix(HEADER) + "    m0(A)\n"


def loops(count: int, items: int, last: str = "A[0] = 1.0") -> str:
    """Loops over sequences, one in the other."""
    lines = [f"{'    ' * at}for x{at} in [0] * {items}:" for at in range(count)]
    return body("\n".join([*lines, "    " * count + last]))


def doubled(first: str, step: str, count: int, last: str) -> str:
    """`x = first`, then `x = step` so many times in names of their own, then `last`."""
    lines = [f"x0 = {first}"]
    lines += [f"x{at + 1} = {step.replace('x', f'x{at}')}" for at in range(count)]
    return body("\n".join([*lines, last.replace("x", f"x{count}")]))


HOSTILE: dict[str, Callable[[], str | bytes]] = {
    # names and attributes
    "attribute walk": lambda: body("x = ().__class__.__bases__[0].__subclasses__()"),
    "attribute walk from a string": lambda: body("x = ''.__class__.__mro__[1].__subclasses__()"),
    "attribute walk from T": lambda: body("x = T.exp.make.__globals__['__builtins__']"),
    "attribute walk from a decorator": lambda: f"{HEADER}@T.prim_func.__globals__['os'].system\ndef f(): pass",
    "attribute walk from a loop": lambda: body("for i in T.serial.__class__.__subclasses__():\n    pass"),
    "a constant of a device": lambda: body('K = T.constant("sha256:' + "0" * 64 + '", (4,), "int8", file="/dev/zero")'),
    "a constant of the folder above": lambda: body(
        'K = T.constant("sha256:' + "0" * 64 + '", (4,), "int8", file="../a")'
    ),
    "a constant beyond all memory": lambda: body('K = T.constant("sha256:' + "0" * 64 + '", (1 << 62, 9), "int8")'),
    "a constant of no base64": lambda: body(
        'K = T.constant("sha256:' + "0" * 64 + '", (4,), "int8", base64="' + "A$" * 4_000_000 + '")'
    ),
    "constants in constants": lambda: body("K = T.allocate_const(" + "[" * 150 + "]" * 150 + ', "int8", (1,))'),
    "a long walk": lambda: body("x = A" + ".data" * 100_000),
    "import": lambda: f"{HEADER}__import__('os').system('true')",
    "import in a body": lambda: body("import os"),
    "eval": lambda: body("x = eval('1')"),
    "global names": lambda: body("x = globals()['__builtins__']"),
    "decorator call": lambda: f"{HEADER}@print('x')\ndef f(): pass",
    "decorator chain": lambda: f"{HEADER}@T.prim_func\n@exec\ndef f(): pass",
    "decorator with a walrus": lambda: f"{HEADER}@(x := T.prim_func)\ndef f(): pass",
    "a class with a metaclass": lambda: f"{HEADER}@I.ir_module\nclass M(metaclass=print): pass",
    "a default value": lambda: f"{HEADER}@T.prim_func\ndef f(A=open('/etc/passwd')): pass",
    "an annotation in quotes": lambda: f"{HEADER}@T.prim_func\ndef f(A: '__import__(\"os\")'): pass",
    # strings
    "format string": lambda: body("x = '{0.__class__}'.format(A)"),
    "format of a class": lambda: body("x = f'{A.__class__.__init__.__globals__}'"),
    "percent format": lambda: body("x = '%1000000000s' % 'a'"),
    "a wide format": lambda: body("x = f'{1:>1000000000}'"),
    "a format made of digits": lambda: body("x = f'{1:" + "9" * 100_000 + "}'"),
    "a nested format": lambda: body("w = 10**9\nx = f'{1:>{w}}'"),
    "a huge f-string": lambda: body("a = 'x' * 1000000\nb = f'" + "{a}" * 10_000 + "'"),
    "doubled f-strings": lambda: doubled("'ab' * 100", "f'{x}{x}'", 60, "A[x] = 1.0"),
    "doubled strings": lambda: doubled("'ab'", "x + x", 60, "A[x] = 1.0"),
    "text of nested lists": lambda: doubled("[0] * 100", "[x] * 100", 8, "A[f'{x}'] = 1.0"),
    # numbers
    "a tower": lambda: body("x = 9**9**9"),
    "a shift": lambda: body("x = 1 << 10**10"),
    "squares": lambda: body("x = [x := 3" + ", x := x * x" * 100 + "]\nA[0] = q"),
    "a literal of digits": lambda: body("x = " + "9" * 1_000_000),
    "a literal of hexadecimal digits": lambda: body("x = 0x" + "f" * 1_000_000 + "\nA[x] = 1.0"),
    "round": lambda: body("x = round(1, -10**9)\nA[x] = q"),
    "int of digits": lambda: body("x = int('9' * 1000000)"),
    "an exponent": lambda: body("A[0] = T.int32(1e999999999)"),
    "a huge shape": lambda: f"{HEADER}@T.prim_func\ndef f(A: T.Buffer((1 << 200,), 'float32')): pass",
    # sequences
    "a long list": lambda: body("x = [0] * 10**9"),
    "a long range": lambda: body("x = list(range(10**12))"),
    "a comprehension of a range": lambda: body("x = [i for i in range(10**12)]"),
    "comprehensions in one": lambda: body("x = [0 for a in range(10000) for b in range(10000) for c in range(10000)]"),
    "comprehensions in another": lambda: body(
        "x = [[[0 for a in range(999)] for b in range(999)] for c in range(999)]"
    ),
    "a generator": lambda: body("x = sum(a * b * c for a in range(9999) for b in range(9999) for c in range(9999))"),
    "doubled lists": lambda: doubled("[1]", "[x, x]", 200, "A[len(x)] = q"),
    "doubled tuples as keys": lambda: doubled("(1, 2)", "(x, x)", 200, "y = {x: 1}"),
    "doubled dicts": lambda: doubled("{1: 1}", "{1: x, 2: x}", 200, "T.func_attr({'a': x})"),
    "a sum of lists": lambda: body("x = [[0]] * 1000000\ny = sum(x, [])\nz = sum([[0]] * 1000000, ())\nA[0] = q"),
    "lists compared": lambda: body("a = [0] * 1000000\nb = [0] * 1000000\n" + "c = a == b\n" * 10_000 + "A[0] = q"),
    "sums of long lists": lambda: body("a = [0] * 1000000\n" + "c = sum(a)\n" * 10_000 + "A[0] = q"),
    "lists in lists": lambda: body("x = [1]\n" + "x = [x]\n" * 20_000 + "y = f'{x}'"),
    "enumerate of enumerate": lambda: body("x = [1]\n" + "x = enumerate(x)\n" * 20_000 + "y = list(x)"),
    "unpacking": lambda: body("x = [*range(1000000)]\n" + "y = [*x, *x]\n" * 100),
    "indices unpacked": lambda: body("x = [0] * 1000000\nA[*x] = 1.0"),
    "a grid unpacked": lambda: body("for i in T.grid(*[2] * 1000000):\n    pass"),
    "a sum of expressions": lambda: body("A[0] = sum([A[1]] * 1000000)"),
    # programs that multiply
    "loops over sequences": lambda: loops(2, 60_000),
    "loops that do nothing": lambda: loops(3, 60_000, "pass"),
    "loops around a long line": lambda: loops(1, 60_000, "A[0] = " + " + ".join(["1.0"] * 900)),
    "loops of mistakes": lambda: loops(2, 60_000, "A[0] = qqqqqqq"),
    "loops around a sum": lambda: loops(1, 60_000, "x = sum(range(1000000))"),
    "many mistakes": lambda: body("A[0] = qqqqqq\n" * 50_000),
    "a macro that calls itself": lambda: macros(1, 1, "m0(A)"),
    "a macro that calls itself twice": lambda: macros(1, 2, "m0(A)"),
    "two macros in a circle": lambda: macros(2, 1, "m0(A)"),
    "macros that double": lambda: macros(60, 2),
    "macros that double nothing": lambda: macros(90, 2, "pass"),
    "macros of mistakes": lambda: macros(60, 2, "A[0] = qqqqqq"),
    "expressions that double": lambda: doubled("T.meta_var(n + n)", "T.meta_var(x + x)", 200, "A[x] = 1.0"),
    "expressions in lists that double": lambda: doubled("[n + n]", "[x[0] + x[0]]", 200, "A[x[0]] = 1.0"),
    "slices of expressions that double": lambda: doubled(
        "T.meta_var(n + n)", "T.meta_var(x + x)", 17, "A[0:4] = A[x + (n + n):x + n + (n + 4)]"
    ),
    # the parser itself
    "parentheses": lambda: body("x = " + "(" * 1_000_000 + "1" + ")" * 1_000_000),
    "open parentheses": lambda: "(" * 1_000_000,
    "brackets": lambda: body("x = " + "[" * 1_000_000),
    "subscripts": lambda: body("A" + "[0" * 1_000_000),
    "signs": lambda: body("A[0] = " + "-" * 1_000_000 + "1.0"),
    "negations": lambda: body("A[0] = " + "not " * 1_000_000 + "1.0"),
    "a sum": lambda: body("A[0] = " + "1 + " * 1_000_000 + "1.0"),
    "powers": lambda: body("A[0] = " + "1 ** " * 1_000_000 + "1.0"),
    "comparisons": lambda: body("x = " + "n < " * 100_000 + "n\nA[0] = q"),
    "plain comparisons": lambda: body("x = " + "1 < " * 100_000 + "0\nA[0] = q"),
    "conditionals": lambda: body("A[0] = " + "1.0 if n else " * 100_000 + "1.0"),
    "conjunctions": lambda: body("x = " + "n > 1 and " * 50_000 + "n > 1\nA[0] = q"),
    "lambdas": lambda: body("x = " + "lambda: " * 100_000 + "1"),
    "calls of calls": lambda: body("T.exp" + "()" * 100_000),
    "nested calls": lambda: body("A[0] = " + "T.exp(" * 100_000 + "1.0" + ")" * 100_000),
    "f-strings in f-strings": lambda: body("x = " + "f'{" * 50_000),
    "indentation": lambda: "".join(f"{' ' * at}if 1:\n" for at in range(1000)),
    "elifs": lambda: body("if n > 0:\n    pass\n" + "elif n > 1:\n    pass\n" * 20_000 + "A[0] = q"),
    "decorators": lambda: HEADER + "@T.prim_func\n" * 100_000 + "def f(): pass",
    "parameters": lambda: HEADER + "@T.prim_func\ndef f(" + ", ".join(f"a{i}" for i in range(50_000)) + "): pass",
    "a dimension of parentheses": lambda: (
        f"{HEADER}@T.prim_func\ndef f(A: T.Buffer(('{'(' * 100_000}',), 'int8')): pass"
    ),
    "a dimension that is a sum": lambda: (
        f"{HEADER}@T.prim_func\ndef f(A: T.Buffer(('{'n + ' * 100_000}n',), 'int8')): pass"
    ),
    # bytes
    "a long line": lambda: body("A[0] = 1.0 #" + "x" * (10 << 20)),
    "a long line of numbers": lambda: body("x = [" + "1, " * (3 << 20) + "]"),
    "a long string": lambda: body("x = '" + "a" * (10 << 20) + "'"),
    "NUL bytes": lambda: b"x = 1\0\0\0",
    "only NUL bytes": lambda: b"\0" * 1_000_000,
    "latin-1": lambda: "é = 1".encode("latin-1"),
    "utf-16": lambda: body("pass").encode("utf-16"),
    "utf-7 by name": lambda: b"# coding: utf-7\nx = +AGEAYg-\nimport os\n",
    "an unknown encoding by name": lambda: b"# coding: nonsense\nimport os\n",
    "surrogates": lambda: "x = '\ud800'\nimport os",
    "random bytes": lambda: bytes((at * 7919 + 13) % 256 for at in range(100_000)),
    "a form feed and line separators": lambda: "\x0c\x0b\u2028\u2029\x85 x",
    "lines that continue": lambda: body("x = q" + " \\\n" * 100_000),
    "a string that is open": lambda: body("x = '''" + "a\n" * 100_000),
    "backslashes": lambda: body("x = '" + "\\" * 100_001),
}


def read(text: str | bytes) -> str:
    """What becomes of a text: the codes of its diagnostics, or else what it raised or made."""
    from tirscript.ir import DiagnosticError
    from tirscript.script import parse, parse_file

    try:
        if isinstance(text, str):
            return f"read: {parse(text)!r}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hostile.py"
            path.write_bytes(text)
            return f"read: {parse_file(path)!r}"
    except DiagnosticError as problem:
        shown = str(problem)
        assert shown and len(shown) < 10 << 20
        return "diagnostics " + " ".join(sorted({found.code for found in problem.diagnostics}))
    except Exception as problem:
        return f"raised {type(problem).__name__}: {str(problem)[:200]}"


def main() -> None:
    """Read the texts named, or all, each in a process of its own under limits; print the seconds of the processor, the
    megabytes, and what became of each."""
    import tirscript.script  # noqa: F401

    limit = MEGABYTES << 20
    for name in sys.argv[1:] or HOSTILE:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
            text = HOSTILE[name]()
            started = time.process_time()
            outcome = read(text)
            print(json.dumps([name, outcome, round(time.process_time() - started, 3)]), flush=True)
            os._exit(0)
        _, status, usage = os.wait4(child, 0)
        if status:
            print(json.dumps([name, f"ended with {status}", round(usage.ru_utime, 3)]), flush=True)


if __name__ == "__main__":
    main()
