"""Mistakes of people who come from TVM, numpy, Triton or C: each message says what is wrong and the way out."""

from __future__ import annotations

import re

import pytest
from helpers.script import HEADER, function, mistakes, one_mistake

from tirscript.ir import DiagnosticError
from tirscript.script import parse

LOOP = "for i in range(16):\n    "
BLOCK = 'for i in range(16):\n    with T.block("b"):\n        '

# body, code, the underlined text, words of the message, words of the help
BODIES = [
    # names of other libraries
    ("A[0] = exp(A[0])", "T010", "exp", "`exp` is not defined", "`T.exp`"),
    ("A[0] = np.exp(A[0])", "T010", "np", "a kernel calls the functions of T", "`T.exp`"),
    ("A[0] = math.sqrt(A[0])", "T010", "math", "a kernel calls the functions of T", "`T.sqrt`"),
    ("A[0] = tl.load(A)", "T010", "tl", "a kernel calls the functions of T", "`A[i]`"),
    ("i = tl.program_id(0)", "T010", "tl", "not defined", "thread_binding"),
    ("C = np.zeros(4)", "T010", "np", "not defined", "T.alloc_buffer"),
    ("C = T.alloc_buffer((4,), np.float32)", "T010", "np", "not defined", "`T.float32`"),
    ("A[0] = T.tir.exp(A[0])", "T031", "T.tir", "not a function of T", "`T.exp`"),
    ("for i in T.range(4):\n    A[i] = 1.0", "T031", "T.range", "not a function of T", "`for i in range(n):`"),
    ("A[0] = T.float(3)", "T031", "T.float", "not a function of T", "`T.float32`"),
    ("A[0] = T.f32(3)", "T031", "T.f32", "not a function of T", "`T.float32`"),
    ("w = [1.0, 2.0]\nfor i in range(2):\n    A[i] = w[i]", "T033", "i", "a Python list is indexed", 'T.allocate_const(w, "float32", (2,))'),
    ("w = [A[0], A[1]]\nfor i in range(2):\n    A[i] = w[i]", "T033", "i", "a Python list is indexed", "`for x in values:`"),
    ("w = T.constant([1.0, 2.0])", "T032", "T.constant([1.0, 2.0])", "the shape is missing", "of values `T.allocate_const(values, dtype, shape)`"),
    ("A[0] = T.math.sqrt(A[1])", "T031", "T.math", "not a function", "did you mean `T.sqrt`?"),
    ("k = T.reduce_axis((0, 4))", "T031", "T.reduce_axis", "not a function", "`vk = T.axis.reduce(n, k)`"),
    ("for i in range(8 / 2):\n    A[i] = 1.0", "T112", "8 / 2", "a float, not an integer", "`//` gives an integer"),
    ("for i in T.thread_binding('threadIdx.x', 4):\n    A[i] = 1.0", "T112", "'threadIdx.x'", "not an integer", "T.thread_binding(n, thread='threadIdx.x')"),
    ("A[0] = T.sum(A)", "T031", "T.sum", "not a function of T", "acc += A[i]"),
    ("A[0] = T.relu(A[0])", "T031", "T.relu", "not a function of T", "T.max(x, 0.0)"),
    ("T.syncthreads()", "T031", "T.syncthreads", "not a function of T", "tvm_storage_sync"),
    ("C = T.zeros((4,))", "T031", "T.zeros", "not a function of T", "T.alloc_buffer"),
    ("A[0] = T.where(n > 0, 1.0, 2.0)", "T022", "T.where(n > 0, 1.0, 2.0)", "in an expression", "T.if_then_else"),
    ("A[0] = alpha * A[1]", "T010", "alpha", "not defined", "make it a parameter, such as `alpha: T.float32`"),
    ("i = cuda.grid(1)", "T010", "cuda", "`cuda` is not defined", "thread_binding"),
    ("A[0] = njit(A[0])", "T010", "njit", "not defined", "under `@T.prim_func`"),
    ("A[0] = T.ln(A[1])", "T031", "T.ln", "not a function of T", "`T.log(x)`"),
    ("A[0] = T.sqr(A[1])", "T031", "T.sqr", "not a function of T", "`x * x`"),
    ("T.Store(A, 0, 1.0)", "T031", "T.Store", "not a function of T", "`A[i] = x`"),
    ("A[0] = T.Load('float32', A, 0)", "T031", "T.Load", "not a function of T", "`A[i]`"),
    ("i = T.threadIdx.x", "T031", "T.threadIdx", "not a function of T", 'thread="threadIdx.x"'),
    ("i = T.dense_fixed(4)", "T031", "T.dense_fixed", "not a function of T", "for p in range(indptr[i], indptr[i + 1]):"),
    ("i = T.match_sparse_buffer(A, (4,))", "T031", "T.match_sparse_buffer", "not a function of T", "`A[p]` the element"),
    ("A[i] = 1.0", "T010", "i", "`i` is not defined", "a loop gives it: `for i in range(n):`"),
    ("A[0] = A[tid + 1]", "T010", "tid", "`tid` is not defined", "a loop gives it: `for tid in range(n):`"),
    ("for vi in range(4):\n    A[vii] = 1.0", "T010", "vii", "`vii` is not defined", "did you mean `vi`?"),
    ("A(i) = 1.0", "T001", "A(i)", "a call cannot be assigned", "brackets: `A[i] = value`"),
    ("x = []\nx.append(1)", "T003", "x.append", "the attribute `append`", "made at once"),
    # buffers as arrays
    ("A[0] = A @ A", "T104", "A", "the whole buffer `A`", "write the loops: `C[i, j] += A[i, k] * B[k, j]`"),
    ("A[0:16] = A + 1.0", "T104", "A", "the whole buffer `A`", "take an element, `A[i]`, inside of a loop"),
    ("B[:, 0] = T.float32(0)", "T112", ":", "only the last index of `B`", "loop over the other dimensions"),
    ("A[0:4] = A[-4:]", "T113", "-4", "the bound -4 of a slice of `A` is negative", "write `12`"),
    ("A[0:4] = A[0:-12]", "T113", "-12", "the bound -12 of a slice of `A` is negative", "write `4`"),
    ("A[0] += A", "T104", "A", "the whole buffer `A`", "take an element"),
    ("A += B", "T012", "A", "cannot be assigned as a whole", "in a loop"),
    ('A = T.alloc_buffer((4,), "float32")', "T012", "A", "cannot be assigned as a whole", "or use another name"),
    ("A[0] = -A", "T104", "-A", "the whole buffer `A`", "take an element"),
    ("A[0] = T.exp(A)", "T104", "A", "the whole buffer `A`", "take an element"),
    ("A[0] = T.float32(A)", "T104", "A", "the whole buffer `A`", "`A[i]`"),
    ("if A == X:\n    A[0] = 1.0", "T104", "A", "the whole buffer `A`", "`A[i]`"),
    ("if A:\n    A[0] = 1.0", "T102", "A", "the whole buffer `A`", "index it"),
    ("A[0] = A.sum()", "T030", "A.sum", "a buffer has no `sum`", "acc += A[i]"),
    ("B[0, 0] = B.T[0, 0]", "T030", "B.T", "a buffer has no `T`", "`B[j, i]`"),
    ("A.fill(0)", "T030", "A.fill", "a buffer has no `fill`", "in a loop"),
    ("x = A[0].item()", "T030", "A[0].item", "no `item`", "a value already"),
    ("A[0] = A[0].to('float32')", "T030", "A[0].to", "no `to`", "astype"),
    ("A[0] = A[0].exp()", "T030", "A[0].exp", "no `exp`", "`T.exp(x)`"),
    ("x = A.shape[2]", "T113", "2", "no dimension 2: the buffer has 1 dimension", ""),
    ("A[0] = B[0][1]", "T111", "B[0]", "2 dimensions, but 1 index", "`B[i, j]`"),
    ("A[0][0] = 1.0", "T012", "A[0][0]", "one element of `A` already", "`A[...] = value`"),
    ("A(0)", "T022", "A(0)", "indexed, not called", "`A[...]`"),
    ("A[...] = 0.0", "T021", "...", "not part of the language", "loop over the elements"),
    ("A[1.0] = 0.0", "T112", "1.0", "float32, not an integer", "write `1`"),
    ("A['x'] = 0.0", "T112", "'x'", "a string, not an integer", ""),
    ("A.shape = (4,)", "T012", "A.shape", "an attribute cannot be assigned", ""),
    ("C = [0.0] * 4\nC[0] = 1.0", "T012", "C[0]", "a Python list", "T.alloc_buffer"),
    # Python that runs while parsing
    ("x = len(A)", "T033", "len(A)", "runs while parsing: `A` has no value yet", "`A.shape[0]`"),
    ("A[0] = sum(A)", "T033", "sum(A)", "`A` has no value yet", "for i in range(A.shape[0]):"),
    ("X[0] = int(A[0])", "T033", "int(A[0])", "`A[0]` has no value yet", '`A[0].astype("int32")`'),
    ("A[0] = float(n)", "T033", "float(n)", "`n` has no value yet", '`n.astype("float32")`'),
    ("A[0] = round(A[0])", "T033", "round(A[0])", "has no value yet", "`T.round`"),
    ("x = sum(A[i] for i in range(n))", "T033", "range(n)", "`n` has no value yet", "for i in range(n):"),
    ("x = [1, 2][n]", "T033", "n", "a Python list is indexed while parsing", 'T.allocate_const(table, "int32", (2,))'),
    ("print(A[0])", "T003", "print", "not available to text", "T.print"),
    ("x = f'{n}'", "T033", "n", "known while parsing", "T.print"),
    ("with open('x') as f:\n    pass", "T020", "open('x')", "a kernel opens no files", "as an array"),
    # loops
    ("for i in n:\n    A[i] = 1.0", "T032", "n", "not a sequence", "`for i in range(n):`"),
    ("for i in A:\n    X[i] = 1", "T032", "A", "not a sequence", "range(A.shape[0])"),
    ("for i in T.parallel:\n    A[i] = 1.0", "T032", "T.parallel", "not a sequence", "call it: `T.parallel(...)`"),
    ("for i in T.grid(4, 4):\n    A[i] = 1.0", "T032", "T.grid(4, 4)", "2 extents for 1 variable", "for i, j in"),
    ("for i, j in range(4):\n    A[i] = 1.0", "T012", "i, j", "one variable", "T.grid"),
    ("for i in range(A[0]):\n    A[i] = 1.0", "T112", "A[0]", "float32, not an integer", '`A[0].astype("int32")`'),
    ("for i in range(n / 2):\n    A[i] = 1.0", "T105", "n / 2", "`/` takes floats", "`//`"),
    ("for i in range(0, 16, 0):\n    A[i] = 1.0", "T304", "0", "the step of a loop is 0", "1 or more"),
    ("for i in range(16, step=2):\n    A[i] = 1.0", "T032", "2", "no keyword arguments", "range(start, stop, step)"),
    ("for i in T.serial(4, anotations={}):\n    A[i] = 1.0", "T032", "{}", "no `anotations`", "`annotations`"),
    ("for A in range(4):\n    pass", "T012", "A", "a parameter and cannot be a loop variable", "another name"),
    (LOOP + "for i in range(4):\n        A[i] = 1.0", "T012", "i", "the variable of a loop around", "another name"),
    (LOOP + "i += 1", "T012", "i", "a loop variable", "another name"),
    ("with T.parallel(4) as i:\n    A[i] = 1.0", "T020", "T.parallel(4)", "blocks and attributes", "for i in T.parallel"),
    ("for i in T.thread_binding(4, 'threadIdx'):\n    A[i] = 1.0", "T032", "'threadIdx'", "no thread", '"threadIdx.'),
    # blocks
    ("with T.block(4):\n    A[0] = 1.0", "T032", "T.block(4)", "one name, a string", 'T.block("name")'),
    ("with T.block:\n    A[0] = 1.0", "T022", "T.block", "called in a `with`", 'T.block("name")'),
    ("T.block('b')", "T022", "T.block('b')", "not a statement", "with T.block('b'):"),
    (BLOCK + 'vi = T.axis.remap("SS", [i])\n        A[vi] = 1.0', "T032", 'T.axis.remap("SS", [i])', "2 kinds, 1 loop, 1 name", 'vi = T.axis.remap("S", [i])'),
    (BLOCK + 'vi = T.axis.remap("S", i)\n        A[vi] = 1.0', "T032", "i", "are a list", "`[i]`"),
    (BLOCK + "vi = T.axis.O(16, i)\n        A[vi] = 1.0", "T031", "T.axis.O", "not a function of T.axis", "T.axis.opaque"),
    (BLOCK + "vi = T.axis.spatial(i, 16)\n        A[vi] = 1.0", "T203", "vi = T.axis.spatial(i, 16)", "as its domain and 16", "domain comes first"),
    (LOOP + "vi = T.axis.spatial(16, i)\n    A[vi] = 1.0", "T022", "vi = T.axis.spatial(16, i)", "at the top of a block", "with T.block"),
    (BLOCK + "for j in range(1):\n            T.reads(A[j])\n        A[0] = 1.0", "T022", "T.reads(A[j])", "at the top of a block", "move it up"),
    # memory
    ("C = T.alloc_buffer((4,), ('float32',))", "T109", "('float32',)", "not an element type", '`"float32"`'),
    ("C = T.alloc_buffer('float32', (4,))", "T032", "T.alloc_buffer('float32', (4,))", "the shape comes first", "(128,)"),
    ("C = T.alloc_buffer(4, 4)", "T109", "4", "not an element type", "(4, 4)"),
    ("C = T.alloc_buffer(n, n)", "T109", "n", "n is not an element type", "(n, n)"),
    ("C = T.alloc_buffer(n, 4, 'float32')", "T109", "4", "not an element type", "(n, 4)"),
    ("C = T.alloc_buffer(4, (n, 2))", "T109", "(n, 2)", "(n, 2) is not an element type", "(4, n, 2)"),
    ("A[0] = T.infinity(dtype='flot64')", "T109", "'flot64'", "'flot64' is not an element type", "`float64`"),
    ("C = T.alloc_buffer((4,), 'f16')", "T109", "'f16'", "not an element type", "`float16`"),
    ("C = T.alloc_buffer((4,), 'int8', 'shared')", "T032", "'shared'", "takes no `data`", 'scope="shared"'),
    ("C = T.alloc_buffer((4,), scop='local')", "T032", "'local'", "no argument `scop`", "`scope`"),
    ("T.Buffer((4,), 'float32')", "T020", "T.Buffer((4,), 'float32')", "declares nothing", "T.alloc_buffer"),
    # values and conditions
    ("if n not in [0]:\n    A[0] = 1.0", "T021", "n not in [0]", "`is` and `in`", "`n != 0`"),
    ("if n in range(2, 4):\n    A[0] = 1.0", "T021", "n in range(2, 4)", "`is` and `in`", "`2 <= n < 4`"),
    ("if n not in range(4):\n    A[0] = 1.0", "T021", "n not in range(4)", "`is` and `in`", "`not (0 <= n < 4)`"),
    (
        "if (n if n > 2 else 3) in (1, 2):\n    A[0] = 1.0",
        "T021",
        "(n if n > 2 else 3) in (1, 2)",
        "`is` and `in`",
        "`(n if n > 2 else 3) == 1 or (n if n > 2 else 3) == 2`",
    ),
    ("if n in (*B.shape, 1):\n    A[0] = 1.0", "T021", "n in (*B.shape, 1)", "`is` and `in`", "`n == 1 or n == 2`"),
    ("if A[0] == None:\n    A[0] = 1.0", "T104", "None", "not a value", "always have a value"),
    ("if not n:\n    A[0] = 1.0", "T105", "not n", "takes bools", "`n == 0`"),
    ("A[0] = B[1]", "T111", "B[1]", "2 dimensions, but 1 index stands here", "`B[i, j]`"),
    ("A[0] = sum(A[0:n])", "T022", "0:n", "the length of this slice", "write a loop"),
    ("B = A", "T012", "B", "cannot be assigned as a whole", "`B[i, j] = value`"),
    ("X[0] = n and 1", "T102", "n", "int32, not bool", "`n != 0`"),
    ("if n == 7 or 8:\n    A[0] = 1.0", "T102", "8", "a Python int, not bool", "`... == 8`"),
    ("A[0] = 1.0 if n > 0 and 2.5 else 0.0", "T102", "2.5", "a Python float, not bool", "`... == 2.5`"),
    ("if n == 7 or None:\n    A[0] = 1.0", "T102", "None", "`None`, not bool", ""),
    ("for i in range('n'):\n    A[i] = 1.0", "T112", "'n'", "a Python str, not an integer", "without quotes: `n`"),
    ("for i in range('whatever'):\n    A[i] = 1.0", "T112", "'whatever'", "a Python str, not an integer", ""),
    ("for i, j in T.grid('n', 4):\n    B[i, j] = 1.0", "T112", "'n'", "a Python str, not an integer", "without quotes: `n`"),
    (BLOCK + 'vi = T.axis.spatial("n", i)\n        A[vi] = 1.0', "T112", '"n"', "a string", "without quotes: `n`"),
    ("for i, j in T.grid((4, 4)):\n    B[i, j] = 1.0", "T032", "(4, 4)", "an argument of its own", "`T.grid(4, 4)`"),
    ("for i, j in T.grid(B.shape):\n    B[i, j] = 1.0", "T032", "B.shape", "an argument of its own", "`T.grid(*B.shape)`"),
    ("for i, j in T.grid((1, 2), 3):\n    B[i, j] = 1.0", "T032", "(1, 2)", "of its own", "`T.grid(1, 2, 3)`"),
    ("for i, j in T.grid(3, *(1, n), A.shape):\n    pass", "T032", "A.shape", "its own", "`T.grid(3, *(1, n), *A.shape)`"),
    ("C = T.alloc_buffer((m, 4), 'float32')", "T010", "m", "`m` is not defined", "assign it before, or make it a parameter"),
    ("assert (n > 0, 'positive')", "T102", "(n > 0, 'positive')", "always true", '`assert cond, "message"`'),
    ("if (n > 0, n < 4):\n    A[0] = 1.0", "T102", "(n > 0, n < 4)", "always true", "alone"),
    ("for i in numba.prange(4):\n    A[i] = 0.0", "T010", "numba", "calls the functions of T", "T.parallel"),
    ("A[0] = pow(A[0], 2)", "T003", "pow", "not available", "`T.pow(x, y)`"),
    ("if any(A[i] > 0 for i in range(4)):\n    A[0] = 0.0", "T003", "any", "not available", "`or`"),
    ("B[:, 0] = A[0:4]", "T112", ":", "only the last index of `B` may be a vector", "loop over"),
    ("B[0:2, 0:2] = A[0:4]", "T112", "0:2", "only the last index of `B` may be a vector", "loop over"),
    ("// fill\nA[0] = 1.0", "T001", "//", "invalid syntax", "`#` begins a comment"),
    ("/* fill */", "T001", "/", "invalid syntax", "`#` begins a comment"),
    ("const float x = 1.0;", "T001", "float", "invalid syntax", "x: T.float32 = value"),
    ("let x = A[0]", "T001", "x", "invalid syntax", "x = value"),
    ("A[0] = (float)n", "T001", "n", "invalid syntax", "cast it"),
    ("switch (n):\n    A[0] = 1.0", "T001", ":", "invalid syntax", "`if` and `elif`"),
    ("A[0] = 1.0 if n > 0", "T001", "1.0 if n > 0", "expected 'else'", "`a if cond else b`"),
    ("for i in range(4:\n    A[i] = 1.0", "T001", ":", "invalid syntax", "one before this `:` is open"),
    ("with T.block('(':  # )\n    A[0] = 1.0", "T001", ":", "invalid syntax", "one before this `:` is open"),
    ("A[0] = T.exp(A[0]: 3)", "T001", ":", "invalid syntax", ""),
    ("for i in range(4) {\n    A[i] = 0.0\n}", "T001", "{", "expected ':'", "without braces"),
    ("if n > 0 {\n    A[0] = 0.0\n} else {\n    A[1] = 0.0\n}", "T001", "{", "expected ':'", "without braces"),
    ("helper(A)", "T010", "helper", "not defined", "`M.helper`"),
    ("A[0] = helper(A[0])", "T010", "helper", "not defined", "`M.helper`"),
    ("X[0] = n ** 2", "T105", "n ** 2", "takes floats", "`x * x`"),
    ("A[0] = T.pow(A[0])", "T101", "T.pow(A[0])", "`T.pow` takes 2 arguments, not 1", ""),
    ("A[0] = T.max(A[0], A[1], A[2])", "T101", "T.max(A[0], A[1], A[2])", "takes 2 arguments, not 3", "nest it"),
    ("A[0] = T.cast('float32', n)", "T032", "T.cast('float32', n)", "the value first", "T.cast(n, 'float32')"),
    ("A[0] = A[1].cast('float16')", "T030", "A[1].cast", "has no `cast`", '`A[1].astype("float32")`'),
    ("A[0] = T.mod(n, 3)", "T031", "T.mod", "not a function of T", "`x % y`"),
    ("A[0] = T.erfc(A[0])", "T031", "T.erfc", "not a function of T", "`1.0 - T.erf(x)`"),
    ("A[0] == 1.0", "T020", "A[0] == 1.0", "not used", "write `A[0] = 1.0`"),
    ("T.call_extern('sinf', A[0])", "T104", "T.call_extern('sinf', A[0])", "a dtype, then", '("float32", "sinf", x)'),
    ("A[0] = self.x", "T010", "self", "not defined", "parameters"),
    ("with T.block('x') as b:\n    A[0] = 1.0", "T022", "b", "not bound to a name", "leave the `as` out"),
    ("A[0] = T.int8(300)", "T103", "300", "does not fit int8", ""),
    ("X[0] = 3000000000", "T103", "3000000000", "does not fit int32", '`T.int64(3000000000).astype("int32")`'),
    ("x = T.uint8(0)\nx = -1", "T103", "-1", "does not fit uint8", "declare `x` of a dtype that holds it"),
    ("A[0] = T.neg_inf()", "T031", "T.neg_inf", "not a function of T", '`-T.infinity("float32")`'),
    ("A[0] = 'hello'", "T104", "'hello'", "a string", ""),
    ("A[0] = None", "T104", "None", "`None` is not a value", ""),
    ("A[0] = (1.0, 2.0)", "T104", "(1.0, 2.0)", "a Python tuple", "one by one"),
    ("A[0], A[1] = 1.0", "T033", "1.0", "one value for 2 targets", ""),
    ("A[0] = 1 if n in (1, 2) else 0", "T021", "n in (1, 2)", "`is` and `in`", "`n == 1 or n == 2`"),
    ("x = 0\nx += A[0]", "T110", "A[0]", "float32, but its place holds int32", "`x: T.float32 = ...`"),
    ("x: float = 0.0", "T041", "float", "a dtype such as", "`x: T.float32`"),
    ("x: T.float32 = 0.0\nx = T.float32", "T104", "T.float32", "", ""),
    # functions
    ("return A[0]", "T022", "return A[0]", "returns nothing", "`-> T.float32`"),
    ("return A, X", "T022", "return A, X", "several values", "parameter"),
    ("f(A)", "T010", "f", "not defined", "does not call itself"),
    ("T.func_attr(global_symbol='main')", "T032", "T.func_attr(global_symbol='main')", "takes a dict", '{"global_symbol": "main"}'),
    ("T.attr({'a': 1})", "T032", "T.attr({'a': 1})", "`key` is missing", "T.attr(node, key, value)"),
    ("lambda: 3", "T021", "lambda: 3", "`lambda`", "T.macro"),
    ("i = 0\nwhile i < 4:\n    i++", "T001", "", "invalid syntax", "`i += 1`"),
    ("if n > 0 && n < 4:\n    pass", "T001", "&", "invalid syntax", "`and`"),
    ("A[0] = T.uniform(0, 1)", "T031", "T.uniform", "not a function", "make them with numpy, and pass the array"),
    ("x = T.alloc_var('float32')", "T031", "T.alloc_var", "not a function", "`x: T.float32 = 0.0`"),
    ("A[0] = std.max(A[0], A[1])", "T010", "std", "a kernel calls the functions of T", "did you mean `T.max`?"),
    ("A[0] = Math.sqrt(A[0])", "T010", "Math", "a kernel calls the functions of T", "`T.sqrt`"),
    ("printf(A[0])", "T010", "printf", "not defined", "T.print"),
    ("__syncthreads()", "T010", "__syncthreads", "not defined", "tvm_storage_sync"),
    ("A[0] = A.max()", "T030", "A.max", "a buffer has no `max`", "`best = T.max(best, A[i])`"),
    ("B[0, 0] = B.min()", "T030", "B.min", "a buffer has no `min`", "`best = T.min(best, B[i, j])`"),
    ("C = B.astype('int32')", "T030", "B.astype", "a buffer has no `astype`", "`B[i, j].astype("),
    ("B[0, 0] = B.exp()", "T030", "B.exp", "a buffer has no `exp`", "`T.exp(B[i, j])`"),
    ("[A[0]]", "T020", "[A[0]]", "these values are not used", "assign them"),
    ("A[0], A[1]", "T020", "A[0], A[1]", "these values are not used", "assign them"),
    ("[A[i] for i in range(16)]", "T020", "[A[i] for i in range(16)]", "not used", "a loop is a statement: `for i in range(16):`"),
    ("[T.print(x) for x in [1, 2]]", "T020", "[T.print(x) for x in [1, 2]]", "not used", "`for x in [1, 2]:`"),
    ("for i, j in 4, 4:\n    B[i, j] = 1.0", "T033", "i, j", "one value for 2 targets", "`for i, j in T.grid(4, 4):`"),
    ("for i, j in B.shape:\n    B[i, j] = 1.0", "T033", "i, j", "one value for 2 targets", "`for i, j in T.grid(*B.shape):`"),
    ("x = [a for a, b in (1, 2)]", "T033", "a, b", "one value for 2 targets", ""),
    ("for i in range[4]:\n    A[i] = 1.0", "T022", "range[4]", "called, not indexed", "`range(4)`"),
    ("for i in range(B.shape(0)):\n    A[i] = 1.0", "T022", "B.shape", "cannot be called", "brackets: `B.shape[0]`"),
    ("x = A.dtype\nA[0] = x(n)", "T022", "x", "cannot be called", '`T.cast(n, "float32")`'),
    ("for i, j in T.grid(range(4), range(4)):\n    B[i, j] = 1.0", "T112", "range(4)", "not an integer", "a number: `4`"),
    ("A[0:16] = A[::-1]", "T022", "::-1", "has 0 elements", "the index from"),
    ("x = T.float32()\nA[0] = x", "T206", "x", "nothing defines the variable", "`x = T.float32(0)`"),
    ("x = T.int32()\nX[0] = x", "T206", "x", "nothing defines the variable", "alone as a dimension"),
    ("X[0] ++", "T001", "", "invalid syntax", "`i += 1`"),
    ("X[0] = X[0] >>> 1", "T001", ">", "invalid syntax", '`x.astype("uint32") >> n`'),
    ("if (n > 0) A[0] = 1.0", "T001", "A", "invalid syntax", "a condition ends with `:`"),
    ("if n > 0 then:\n    A[0] = 1.0", "T001", "then", "invalid syntax", "`if cond:`"),
    ("for i in range(4) do\n    A[i] = 1.0", "T001", "do", "invalid syntax", "`for i in range(n):`"),
    ("A[0] = if n > 0 then 1.0 else 2.0", "T001", "if", "invalid syntax", "`a if cond else b`"),
    ("if n > 0: A[0] = 1.0 else: A[0] = 2.0", "T001", "else", "invalid syntax", "`else:` has a line of its own"),
    ("if n > 0:\n    A[0] = 1.0\nelseif n < 0:\n    A[0] = 2.0", "T001", "n", "invalid syntax", "`elif`"),
    ("for i = 1:4\n    A[i] = 0.0", "T001", "=", "invalid syntax", "`for i in range(start, stop):`"),
    ("for i in 0..4:\n    A[i] = 0.0", "T001", ".4", "invalid syntax", "`for i in range(start, stop):`"),
    ("for i in [0:4]:\n    A[i] = 0.0", "T001", ":", "invalid syntax", "`for i in range(start, stop):`"),
    ("A[i] = 0.0 for i in range(16)", "T001", "for", "invalid syntax", "a loop is a statement: `for i in range(16):`"),
    ("A[i for i in range(3)] = 0.0", "T001", "for", "invalid syntax", ""),
    ("A[0] = 3.0f", "T001", "0", "invalid decimal literal", "no suffix, `3.0`"),
    ("x := 1", "T001", ":=", "invalid syntax", "`x = value`"),
    ("A[0] = &A", "T001", "&", "invalid syntax", "`T.address_of(A[0])`"),
    ("A[0] = std::max(A[0], A[1])", "T001", ":", "invalid syntax", "`T.max(x, y)`"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code", "text", "message", "hint"), BODIES, ids=[case[0][:50] for case in BODIES])
def test_body(body: str, code: str, text: str, message: str, hint: str) -> None:
    found = one_mistake(body)
    assert found.span is not None
    assert (found.code, found.span.text) == (code, text), str(found)
    assert message in found.message and hint in (found.hint or ""), str(found)


F = "def f(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n"
TEXTS = [
    (F, "T022", "one decorator", "write `@T.prim_func` above it"),
    ("@T.primfunc\n" + F, "T031", "`T.primfunc`", "`T.prim_func`"),
    ("@prim_func\n" + F, "T010", "`prim_func` is not defined", "`T.prim_func`"),
    ("@T.prim_func " + F, "T001", "invalid syntax", "a line of its own, above `def`"),
    ("@T.prim_func\n" + F.replace("A: ", "float A, "), "T001", "invalid syntax", "a type stands behind its name"),
    ("@T.prim_func\nvoid f(float* A) {\n  A[0] = 1.0;\n}\n", "T001", "invalid syntax", "`def f(...):`"),
    ("@T.prim_func\n@T.macro\n" + F, "T022", "one decorator", "leave this one out"),
    ("@T.prim_func(privat=True)\n" + F, "T032", "no option `privat`", "`private`"),
    ("@T.prim_func\nasync " + F, "T020", "`async def`", "`def`"),
    ("@T.prim_func\n" + F + "\nf(1)\n", "T003", "at the top of a text", "read, not run"),
    ("@T.prim_func\n" + F.replace("):", ") -> T.Buffer((4,), 'float32'):"), "T041", "returns a scalar", "a parameter"),
    ("@T.prim_func\n" + F + "\n@T.prim_func\n" + F.replace("f(", "g(").replace("A[0] = 1.0", "f(A)"), "T022", "`f` is a tensor function outside", "@I.ir_module"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "message", "hint"), TEXTS)
def test_text(text: str, code: str, message: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(HEADER + text)
    found = caught.value.diagnostics[0]
    assert found.code == code and message in found.message and hint in (found.hint or ""), str(found)


@pytest.mark.parametrize("path", ["kernel.py", "kernels/one.py\n", "/tmp/a kernel.py", "./one-two.py"])
def test_a_path_is_no_text(path: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(path)
    assert [found.hint for found in caught.value.diagnostics] == ["`parse_file` reads a file"]


@pytest.mark.parametrize("text", [HEADER + "run all.py", HEADER + "kernel(4)\n# as in kernel.py"])
def test_a_line_that_names_a_file_is_no_path(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    assert "parse_file" not in str(caught.value)


def test_calls_between_functions_of_a_module() -> None:
    text = HEADER + (
        "@I.ir_module\nclass M:\n"
        "    @T.prim_func\n    def g(A: T.Buffer((4,), 'float32'), n: T.int32):\n        A[0] = 1.0\n\n"
        "    @T.prim_func\n    def f(A: T.Buffer((4,), 'float32')):\n"
        "        M.g(A)\n        M.g(A, 0.5)\n        M.g(1, 1)\n        M.h(A)\n        g(A, 1)\n"
    )
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    found = caught.value.diagnostics
    assert [one.code for one in found] == ["T101", "T110", "T032", "T030", "T010"]
    assert found[0].message == "`g` takes 2 arguments, not 1" and "`A`, `n`" in (found[0].hint or "")
    assert "`M.g(...)`" in (found[4].hint or "")


@pytest.mark.parametrize("body", ["A", "T.exp", "T.float32"])
def test_a_name_alone_does_nothing(body: str) -> None:
    found = one_mistake(body)
    assert found.code == "T020" and f"a name alone does nothing: `{body}`" in found.message


def test_several_mistakes_of_a_newcomer_are_said_at_once() -> None:
    found = mistakes("x = len(A)\nC = np.zeros(4)\nA[0] = T.relu(C[0])\nfor i in n:\n    A[i] = x\nreturn A")
    assert [(one.code, one.span and one.span.line) for one in found] == [
        ("T033", 6),
        ("T010", 7),
        ("T031", 8),
        ("T032", 9),
        ("T022", 11),
    ]


THINGS = [
    "T", "T.axis", "T.grid", "T.exp", "T.float32", "T.Buffer", "T.Buffer((4,))", "T.let", "T.let[T.int32]", "A", "A.vload",
    "A[0].astype", "A.dtype", "A.data", "M", "M.g", "None", "range", "T.prim_func", "T.index_map(lambda i: i)",
]  # fmt: skip
PLACES = [
    "A[0] = {}", "A[{}] = 1.0", "A[0] = A[0] + {}", "A[0] = T.exp({})", "for i in {}:\n    A[i] = 1.0", "x = {} < 1",
    "for i in range({}):\n    A[i] = 1.0", "C = T.alloc_buffer(({},), 'float32')", "C = T.alloc_buffer((4,), {})", "x = {}()",
    "T.func_attr({{'a': {}}})", "x = -{}", "x = len({})", "x = T.cast(n, {})", "T.attr({}, 'k', 1)", "with {}:\n    A[0] = 1.0",
]  # fmt: skip
OURS = re.compile(
    r"BufferLoad|BufferData|PrimFunc|BufferType|TypeName|Namespace|\bForm\b|LetForm|BufferForm|LetType|FunctionRef|ModuleRef"
    r"|\bMethod\b|IndexMap|DType|\bOp\b|NoneType|_range|object at 0x|<function|<T\.|T499"
)


@pytest.mark.parametrize("place", PLACES)
def test_no_message_names_a_class_of_ours(place: str) -> None:
    for thing in THINGS:
        body = place.format(thing).replace("\n", "\n        ")
        text = (
            "@I.ir_module\nclass M:\n    @T.prim_func\n    def g(A: T.Buffer((16,), 'float32')):\n        A[0] = 1.0\n\n"
            f"    @T.prim_func\n    def f(A: T.Buffer((16,), 'float32'), n: T.int32):\n        {body}\n"
        )
        try:
            parse(HEADER + text)
        except DiagnosticError as problem:
            for found in problem.diagnostics:
                said = f"{found.message} | {found.hint} | {found.notes}"
                assert not OURS.search(said), f"{body}: {said}"


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("@T.graph_func\ndef f(x: G.Tensor((4,), 'float32')):\n    return x", "T031", "under `@G.graph_func`"),
        ("@graph_func\ndef f(x: G.Tensor((4,), 'float32')):\n    return x", "T010", "under `@G.graph_func`"),
        ("@G.prim_func\ndef f(n: T.int32):\n    pass", "T031", "under `@T.prim_func`"),
        ("@T.function\ndef f(n: T.int32):\n    pass", "T031", "under `@T.prim_func`"),
        ("@T.ir_module\nclass M:\n    pass", "T031", "under `@I.ir_module`"),
        ("@T.prim_func(private)\ndef f(n: T.int32):\n    pass", "T032", "write `private=True`"),
        ("@G.graph_func(pure)\ndef f(x: G.Tensor((4,), 'float32')):\n    return x", "T032", "write `pure=True`"),
        ("@T.prim_func\ndef f(a: T.handle):\n    a[0] = 1.0", "T012", "`data = T.match_buffer(a, "),
        ("@T.prim_func\ndef f(a: T.handle, B: T.Buffer((1,), 'int8')):\n    B[0] = a[0]", "T104", "T.match_buffer(a, "),
    ],
)
def test_decorators_and_handles(text: str, code: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    first = caught.value.diagnostics[0]
    assert first.code == code and hint in (first.hint or "")


# code over the buffers A and B, the help as it is written, and code that follows it
FOLLOWED = [
    (
        "C = A.copy()",
        "`copied[i] = A[i]`",
        'copied = T.alloc_buffer((4,), "float32")\nfor i in range(4):\n    copied[i] = A[i]',
    ),
    (
        "A[0] = jax.nn.softplus(A[1])",
        "`T.max(x, 0.0) + T.log1p",
        "A[0] = T.max(A[1], 0.0) + T.log1p(T.exp(-T.abs(A[1])))",
    ),
    ("A[0] = jnp.where(n > 0, 1.0, 2.0)", "`T.if_then_else(cond, a, b)`, or", "A[0] = T.if_then_else(n > 0, 1.0, 2.0)"),
    ("A[0] = jax.nn.relu(A[1])", "`T.max(x, 0.0)`", "A[0] = T.max(A[1], 0.0)"),
    ("A[0] = torch.nn.functional.sigmoid(A[1])", "did you mean `T.sigmoid`?", "A[0] = T.sigmoid(A[1])"),
    (
        "for i, j in ti.ndrange(4, 4):\n    A[i] = 0.0",
        "`for i, j in T.grid(4, 4):`",
        "for i, j in T.grid(4, 4):\n    pass",
    ),
    (
        "for i in T.static(range(4)):\n    A[i] = 0.0",
        "`for i in T.unroll(4):`",
        "for i in T.unroll(4):\n    A[i] = 0.0",
    ),
    (
        "for i in reversed(range(4)):\n    pass",
        "`for i in range(n - 1, -1, -1):`",
        "for i in range(n - 1, -1, -1):\n    pass",
    ),
    ("with T.Assert(n > 0, 'm'):\n    pass", '`assert cond, "message"`, a statement', 'assert n > 0, "m"'),
    ("if T.all(n > 0, n < 4):\n    pass", "join the conditions with `and`", "if n > 0 and n < 4:\n    pass"),
    (
        "A[0] = T.gelu(A[1])",
        "`0.5 * x * (1.0 + T.erf(x * 0.7071067811865476))`",
        "A[0] = 0.5 * A[1] * (1.0 + T.erf(A[1] * 0.7071067811865476))",
    ),
    (
        "A[0] = T.cbrt(A[1])",
        "`T.copysign(T.pow(T.abs(x), 1.0 / 3.0), x)`",
        "A[0] = T.copysign(T.pow(T.abs(A[1]), 1.0 / 3.0), A[1])",
    ),
    (
        "A[0] = T.sign(A[1])",
        "`T.Select(x > 0, 1, T.Select(x < 0, -1, 0))`",
        "A[0] = T.Select(A[1] > 0, 1, T.Select(A[1] < 0, -1, 0))",
    ),
    (
        "for i in range(A.size):\n    pass",
        "it has so many elements: `A.shape[0]`",
        "for i in range(A.shape[0]):\n    pass",
    ),
    (
        "i = B.size",
        "it has so many elements: `B.shape[0] * B.shape[1]`",
        "for i in range(B.shape[0] * B.shape[1]):\n    pass",
    ),
    ("B.fill(0)", "store in a loop: `B[i, j] = value`", "for i, j in T.grid(4, 4):\n    B[i, j] = 0.0"),
    ("C = A.at[0].set(1.0)", "store the element: `A[i] = value`", "A[0] = 1.0"),
    ("C = B.flatten()", "`view = B.view(-1)`", "view = B.view(-1)"),
    (
        'C = T.Buffer((4,), "float32")\nC[0] = 1.0',
        "allocates memory",
        'C = T.alloc_buffer((4,), "float32")\nC[0] = 1.0',
    ),
    ("x: 'float32' = 0.0\nA[0] = x", "`x: T.float32`", "x: T.float32 = 0.0\nA[0] = x"),
    ("A[0:16] = A[::-1]", "first is `T.ramp(15, -1, 16)`", "A[0:16] = A[T.ramp(15, -1, 16)]"),
    ("x = T.float32()\nA[0] = x", "`x = T.float32(0)`", "x = T.float32(0)\nA[0] = x"),
    ("x = T.int32x4()\nT.evaluate(x)", "`x = T.int32x4(0)`", "x = T.int32x4(0)\nT.evaluate(x)"),
    ("x = T.handle()\nT.evaluate(x)", "`x = A.data`", "x = A.data\nT.evaluate(x)"),
    ("x: T.int8 = 0\nx = 3.0", "write `3`", "x: T.int8 = 0\nx = 3"),
    ("x: T.int8 = 0\nx = 300.0", 'cast it: `T.cast(300.0, "int8")`', 'x: T.int8 = 0\nx = T.cast(300.0, "int8")'),
]


@pytest.mark.parametrize(("code", "help", "fixed"), FOLLOWED)
def test_what_the_help_says_is_read(code: str, help: str, fixed: str) -> None:
    hint = one_mistake(code).hint
    assert hint is not None and help in hint
    function(fixed)
