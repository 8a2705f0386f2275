"""Ways out for names that people bring along: from numpy, Triton, torch, TVM and Python itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import suggest
from tirscript.ir.dtype import scalar_names
from tirscript.ir.op import OPS

from .namespace import TILE_NAMESPACES, Unsupported
from .tvm import DTYPES, OLDER_INTRINSICS

# libraries that a kernel does not call; only their names, nothing is imported
LIBRARIES = frozenset(
    (
        *("np", "numpy", "math", "random", "scipy", "cp", "cupy"),
        *("torch", "F", "nn", "tf", "jax", "jnp", "lax"),
        *("tl", "triton", "tvm", "numba", "nb", "ti", "taichi"),
        *("std", "Math", "cmath"),
    )
)


def taken_in(name: str, use: str) -> str:
    """The way out for a function that stands outside of the module that uses it so."""
    return f"put both in one `@I.ir_module`, whose body also takes it by `{name} = {name}`: `cls.{name}{use}`"


_LOOP = "write the loop: `for i in range(n):`"
_SUM = "add in a loop: `acc = 0.0`, then `acc += A[i]`"
_MEMORY = 'memory is `C = T.alloc_buffer(shape, "float32")`; store its elements in a loop'
_VALUE = "an element, such as `A[0]`, is a value already"
_CAST = 'convert with `x.astype("float32")`'
_BUFFER = 'a tensor is `T.Buffer((128, 128), "float32")`'
_VIEW = "index it in another order, or view it: `view = A.view(4, 4)`"
_FLAT = "index it in another order, or view it: `view = A.view(-1)`"
_THREADS = "a loop is run by threads where it says so: `for i in T.parallel(n):`"

_RANDOM = "a kernel draws no numbers: make them with numpy, and pass the array"
_VARIABLE = "a name that is assigned again is a variable: `x: T.float32 = 0.0`, then `x = x + 1.0`"
_BEST = "keep the {} so far in a loop: `best = T.{}(best, A[i])`"
_SYNC = '`T.tvm_storage_sync("shared")` waits for the threads of a block'

_SORTED = "compare and exchange elements in loops"

_KERNEL = "a kernel is a function under `@T.prim_func`"
_GRAPH = "a graph is a function under `@G.graph_func`"
_MODULE = "a module is a class under `@I.ir_module`"
_SPARSE = (
    "axes of SparseTIR are loops over the arrays that hold them: `for p in range(indptr[i], indptr[i + 1]):`, in which "
    "`indices[p]` is the column and `A[p]` the element"
)

# what somebody who writes this name wants here; without T's own names, which are found there
ADVICE: dict[str, str] = {
    "range": "`for i in range(n):`, or `T.serial(start, stop)`",
    "arange": _LOOP,
    "prange": "`for i in T.parallel(n):`",
    "for_range": _LOOP,
    "ndrange": "`for i, j in T.grid(4, 4):`",
    **dict.fromkeys(("static", "static_range"), "`for i in T.unroll(4):`"),
    "reversed": "`for i in range(n - 1, -1, -1):`",
    "vectorize": "`for i in T.vectorized(4):`",
    "unrolled": "`for i in T.unroll(4):`",
    "float": "`T.float32`, or another dtype with its width",
    "int": "`T.int32`, or another dtype with its width",
    "uint": "`T.uint32`, or another dtype with its width",
    **dict.fromkeys(("neg_inf", "ninf", "minf", "NINF"), '`-T.infinity("float32")`'),
    "inf": '`T.infinity("float32")`',
    "nan": '`T.float32("nan")`',
    "pi": "`T.float32(3.141592653589793)`",
    "double": "`T.float64`",
    "half": "`T.float16`",
    "Tensor": _BUFFER,
    "ndarray": _BUFFER,
    "array": _MEMORY,
    "tensor": _MEMORY,
    "zeros": _MEMORY,
    "zeros_like": _MEMORY,
    "ones": _MEMORY,
    "empty": _MEMORY,
    "empty_like": _MEMORY,
    "full": _MEMORY,
    "alloc": _MEMORY,
    "alloc_fragment": _MEMORY,
    **dict.fromkeys(("alloc_var", "alloc_scalar", "local_var"), _VARIABLE),
    **dict.fromkeys(("rand", "randn", "random", "randint", "uniform", "normal", "seed"), _RANDOM),
    "sum": _SUM,
    "mean": "add in a loop, then divide by the count",
    "prod": "multiply in a loop",
    "reduce_sum": _SUM,
    "dot": "write the loops: `C[i, j] += A[i, k] * B[k, j]`",
    "matmul": "write the loops: `C[i, j] += A[i, k] * B[k, j]`",
    "gemm": "write the loops: `C[i, j] += A[i, k] * B[k, j]`",
    "where": "`T.if_then_else(cond, a, b)`, or `a if cond else b`",
    "select": "`T.Select(cond, a, b)`",
    "metadata": 'what TVM prints apart from the text is given to the parser: `parse(text, names={"metadata": {...}})`',
    "relu": "`T.max(x, 0.0)`",
    "clip": "`T.min(T.max(x, low), high)`",
    "clamp": "`T.min(T.max(x, low), high)`",
    "cdiv": "`T.ceildiv(a, b)`",
    "square": "`x * x`",
    "sqr": "`x * x`",
    "ln": "`T.log(x)`",
    "gelu": "`0.5 * x * (1.0 + T.erf(x * 0.7071067811865476))`",
    **dict.fromkeys(("silu", "swish"), "`x * T.sigmoid(x)`"),
    "softplus": "`T.max(x, 0.0) + T.log1p(T.exp(-T.abs(x)))`",
    "softmax": "write the loops: the greatest of a row, the sum of `T.exp(x - top)`, the quotients by it",
    "sign": "`T.Select(x > 0, 1, T.Select(x < 0, -1, 0))`",
    "cbrt": "`T.copysign(T.pow(T.abs(x), 1.0 / 3.0), x)`",
    "rint": "`T.nearbyint(x)`",
    "fmin": "`T.min(x, y)`",
    "indexdiv": "`x // y`",
    "indexmod": "`x % y`",
    "Assert": '`assert cond, "message"`, a statement of its own',
    "any": "join the conditions with `or`",
    "all": "join the conditions with `and`",
    "mod": "`x % y`, or `T.truncmod(x, y)`, whose sign is that of `x`",
    "erfc": "`1.0 - T.erf(x)`",
    **dict.fromkeys(("load", "Load"), "read an element by its index: `A[i]`"),
    **dict.fromkeys(("store", "Store"), "write an element by its index: `A[i] = x`"),
    "threadIdx": 'a loop gives the number: `for i in T.thread_binding(n, thread="threadIdx.x"):`',
    "blockIdx": 'a loop gives the number: `for i in T.thread_binding(n, thread="blockIdx.x"):`',
    "blockDim": 'it is the extent of the loop: `for i in T.thread_binding(n, thread="threadIdx.x"):`',
    "program_id": 'a loop gives the number: `for i in T.thread_binding(n, thread="blockIdx.x"):`',
    **dict.fromkeys(("syncthreads", "__syncthreads", "sync_threads"), _SYNC),
    "Parallel": "`for i in T.parallel(n):`",
    "Pipelined": _LOOP,
    "Kernel": _THREADS,
    **dict.fromkeys(("dense_fixed", "dense_variable", "sparse_fixed", "sparse_variable", "attach_axis"), _SPARSE),
    **dict.fromkeys(("match_sparse_buffer", "alloc_sparse_buffer", "sp_iter"), _SPARSE),
    "tir": "`T` is that namespace: `T.exp`, `T.block`",
    "te": "`T` has the operators: `T.exp`, `T.max`",
    "item": _VALUE,
    "value": _VALUE,
    "numpy": _VALUE,
    "to": _CAST,
    "type": _CAST,
    "T": "index it the other way round: `B[j, i]`",
    "transpose": "index it the other way round: `B[j, i]`",
    "reshape": _VIEW,
    "flatten": _FLAT,
    "ravel": _FLAT,
    "clear": "store in a loop: `A[i] = 0.0`",
    "fill": "store in a loop: `A[i] = value`",
    "at": "store the element: `A[i] = value`",
    "copy": "copy in a loop: `copied[i] = A[i]`",
    "script": "`from tirscript.script import ir as I, tir as T` gives `T` and `I`",
    "len": "the extent of a dimension is `A.shape[0]`",
    **dict.fromkeys(("print", "printf"), '`T.print("x =", x)` prints when the kernel runs'),
    "append": "a Python sequence is made at once: `[n * i for i in range(4)]`; numbers of the program are in buffers",
    "graph_func": _GRAPH,
    "function": f"{_KERNEL}; {_GRAPH}",
    "ir_module": _MODULE,
    "njit": _KERNEL,
    "jit": _KERNEL,
    "guvectorize": _KERNEL,
    "cuda": (
        'a loop gives the numbers of threads: `for i in T.thread_binding(n, thread="threadIdx.x"):`; '
        'the memory that they share is `T.alloc_buffer(shape, dtype, scope="shared")`'
    ),
    "reduce_axis": "an axis of a block is one of a reduction: `vk = T.axis.reduce(n, k)`, where `k` is the loop",
    "placeholder": _BUFFER,
    "compute": "write the loops, and the element of each iteration: `C[i, j] = A[i, j] + 1.0`",
    "sort": _SORTED,
    **dict.fromkeys(("ptr", "Pointer"), '`T.handle("float32")` is a typed pointer'),
}
# what somebody who asks a buffer for this wants, where T has the name for something else
_OF_BUFFERS = {
    "max": _BEST.format("greatest", "max"),
    "min": _BEST.format("least", "min"),
    "astype": 'cast its elements: `A[i].astype("float32")`',
}
# which of them T has too, for something else: there it is no value
_OTHERWISE = frozenset(("where",))
AXIS_ADVICE = {"C": "scan", "O": "opaque", "reduction": "reduce", "parallel": "spatial"}
# for functions of the user's own that do with values of the program what only kernels do
ADVICE_IN_PYTHON = (
    "choose with `T.if_then_else(c, a, b)`; `@T.macro` above the function makes its loops, branches and stores part "
    "of the kernel"
)
# the operators of graphs that other libraries call so
_PERMUTED = "did you mean `G.permute_dims(x)`?"
_RESHAPED = "did you mean `G.reshape(x, shape)`?"
_LAYER = "did you mean `G.linear(x, weight, bias)`? The weights are parameters of the graph"
_LONGER = "tuples and lists do not change, and a longer one is `parts = [*parts, x]`"
GRAPH_ADVICE = {
    "append": _LONGER,
    "extend": _LONGER,
    "prim_func": _KERNEL,
    "ir_module": _MODULE,
    "T": _PERMUTED,
    "mT": _PERMUTED,
    "t": _PERMUTED,
    "transpose": _PERMUTED,
    "permute": "did you mean `G.permute_dims(x, axes)`?",
    "view": _RESHAPED,
    "ravel": "did you mean `G.flatten(x)`?",
    "to": 'did you mean `x.astype("float16")`?',
    "float": 'did you mean `x.astype("float32")`?',
    "half": 'did you mean `x.astype("float16")`?',
    "type": 'did you mean `x.astype("float32")`?',
    "dot": "did you mean `G.matmul`?",
    "mm": "did you mean `G.matmul`?",
    "bmm": "did you mean `G.matmul`?",
    "unsqueeze": "did you mean `G.expand_dims(x, axis)`?",
    "cat": "did you mean `G.concat([x, y], axis)`?",
    "concatenate": "did you mean `G.concat([x, y], axis)`?",
    "embedding": "did you mean `G.take(weight, indices, axis=0)`?",
    "functional": "the functions are in `G.nn` itself: `G.nn.softmax(x)`",
    "scaled_dot_product_attention": (
        "did you mean `G.nn.attention(query, key, value)`? Its dimensions are (batch, sequence, heads, head size)"
    ),
    "Linear": _LAYER,
    "dense": _LAYER,
    "clamp": "did you mean `G.clip`?",
    "size": "the dimensions are `x.shape`",
    **dict.fromkeys(("Tensor", "ndarray", "Array"), 'a tensor is `G.Tensor((4, 4), "float32")`'),
    "pow": "`x ** 2.0`, or `G.power(x, y)`",
    "emit": "a call is bound by its assignment: `y = G.add(x, x)`",
    "item": "a graph has no Python numbers: keep the tensor",
    "numpy": "a graph has no arrays while it is read: keep the tensor",
    "array": "a constant is `G.const(values, dtype)`",
    "tensor": "a constant is `G.const(values, dtype)`",
    "asarray": "a constant is `G.const(values, dtype)`",
    "print": "did you mean `G.print`? The function has effects then: `pure=False`",
}
# what somebody who calls this builtin on a value of the program wants
BUILTIN_ADVICE = {
    "int": 'cast it: `x.astype("int32")`',
    "float": 'cast it: `x.astype("float32")`',
    "float32": 'cast it: `x.astype("float32")`',
    "float64": 'cast it: `x.astype("float64")`',
    "int32": 'cast it: `x.astype("int32")`',
    "int64": 'cast it: `x.astype("int64")`',
    "bool": "compare it: `x != 0`",
    "len": "the extent of a dimension is `A.shape[0]`",
    "range": "a loop runs then: `for i in range(n):`",
    "print": ADVICE["print"],
    **dict.fromkeys(("str", "repr", "ascii", "format"), "a text is made of what is known while parsing"),
    "any": ADVICE["any"],
    "all": ADVICE["all"],
    "pow": "`x ** 2.0`, or `T.pow(x, y)`",
    "divmod": "`x // y` and `x % y`",
    "isinstance": "the dtype of a value is known: `x.dtype`",
    "sorted": _SORTED,
    "map": _LOOP,
    "filter": _LOOP,
    "input": "a kernel asks for nothing: what it needs are its parameters",
    "maximum": "did you mean `T.max`?",
    "minimum": "did you mean `T.min`?",
}


# what the same names stand for where a parameter's type is written
ABSENT_ADVICE = {
    **dict.fromkeys(("array", "tensor", "Array"), _BUFFER),
    "pointer": ADVICE["ptr"],
    "constexpr": "what is known while parsing is no parameter: the kernel uses a name of the Python around, `N = 64`",
}


# what types of parameters are called, and the namespace that has them
TYPES = {"Buffer": "T", "handle": "T", **dict.fromkeys(("Tensor", "Shape", "Prim", "Tuple", "Object", "Callable"), "G")}
# the namespace of what stands above a definition or in its signature
HOMES = {**TYPES, "prim_func": "T", "macro": "T", "graph_func": "G", "ir_module": "I"}


def advise(name: str, of: dict[str, Any], letter: str = "T", near: Iterable[str] = ()) -> str | None:
    """The way out for a name that is unknown where it stands: T's own of that name, the table, the nearest one."""
    if letter == "T.axis" and name in AXIS_ADVICE:
        return f"did you mean `T.axis.{AXIS_ADVICE[name]}`?"
    of = {
        known: value
        for known, value in of.items()
        if not isinstance(value, Unsupported) and known not in TILE_NAMESPACES
    }
    if name in _OTHERWISE or (name in ADVICE and name not in of):
        return ADVICE[name]
    if name in of and not name.startswith("_"):
        return f"did you mean `{letter}.{name}`?"
    today = (DTYPES.get(name) or OLDER_INTRINSICS.get(name)) if letter == "T" else None
    if today is not None:
        return f"did you mean `T.{today}`?"
    local = suggest(name, near)
    if local is not None:
        return f"did you mean `{local}`?"
    if near and len(name) < 3:
        return None  # a name of a letter or two is near to any of T's
    found = suggest(name, of)
    return f"did you mean `{letter}.{found}`?" if found is not None else None


def advise_graph(name: str, operators: Iterable[str]) -> str | None:
    """The way out for a name that no operator of graphs has: the operator of that last name, the table."""
    found = next((known for known in operators if known.rpartition(".")[2] == name), None)
    return GRAPH_ADVICE.get(name) if found is None else f"did you mean `G.{found}`?"


def advise_indexed(node: ast.Subscript) -> str:
    """The way out for the tensor of a graph that is indexed as numpy's are: the operator that takes this part of it."""
    tensor = ast.unparse(node.value)
    tensor = tensor if len(tensor) <= 32 else "x"
    shape = f"{tensor}.shape" if isinstance(node.value, _SIMPLE) else f"({tensor}).shape"
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    dots = next((at for at, item in enumerate(items) if _is_constant(item, Ellipsis)), len(items))
    places = {at if at < dots else at - len(items): item for at, item in enumerate(items) if at != dots}
    axes = {axis: item for axis, item in places.items() if ast.unparse(item) != ":"}
    steps = [ast.unparse(item.step) if item.step else "1" for item in axes.values() if isinstance(item, ast.Slice)]
    if axes and len(steps) == len(axes):
        if [ast.unparse(item) for item in axes.values()] == ["::-1"]:
            return f"`G.flip({tensor}, axis={next(iter(axes))})`"
        bounds = [(item.lower, item.upper) for item in axes.values() if isinstance(item, ast.Slice)]
        begin = ", ".join(ast.unparse(lower) if lower else "0" for lower, _ in bounds)
        end = ", ".join(
            ast.unparse(upper) if upper else f"{shape}[{at}]" for at, (_, upper) in zip(axes, bounds, strict=True)
        )
        strides = f", strides=[{', '.join(steps)}]" if any(step != "1" for step in steps) else ""
        if not any(step.startswith("-") for step in steps):
            return f"`G.strided_slice({tensor}, axes={[*axes]}, begin=[{begin}], end=[{end}]{strides})`"
    elif len(axes) == 1:
        ((axis, item),) = axes.items()
        if _is_constant(item, None):
            return f"`G.expand_dims({tensor}, axis={axis})`"
        at = ast.unparse(item)
        if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub):
            at = f"{shape}[{axis}] - {ast.unparse(item.operand)}"
        return f"`G.take({tensor}, {at}, axis={axis})`"
    return "take a slice with `G.strided_slice`, or elements with `G.take`"


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def advise_absent(name: str, letter: str, of: dict[str, Any]) -> str | None:
    """The way out for a name that a namespace has not where Python looks it up: in an annotation, or as a decorator."""
    if letter == "T" and (name in ABSENT_ADVICE or name in ADVICE):
        return ABSENT_ADVICE.get(name) or ADVICE[name]
    home = "T" if name in scalar_names() else HOMES.get(name)
    if home is not None and home != letter:
        return f"did you mean `{home}.{name}`?"
    near = suggest(name, (known for known in of if not known.startswith("_")))
    return f"did you mean `{letter}.{near}`?" if near else None


def matched(handle: str) -> str:
    """The way out where a handle is indexed."""
    return f'match a buffer, and index that: `data = T.match_buffer({handle}, (128,), "float32")`'


def element_hint(buffer: Buffer) -> str:
    """The way out where a whole buffer stands for a value."""
    return f"take an element, `{element_of(buffer)}`, inside of a loop"


def element_of(buffer: Buffer) -> str:
    """An element of a buffer as a program writes it: `A[i, j]`."""
    index = ", ".join("ijkl"[: buffer.ndim]) if 0 < buffer.ndim < 5 else "..."
    return f"{buffer.name}[{index}]"


def advise_type(name: str, example: str, other: str = "") -> str:
    """The way out for a parameter without a type, with another way behind it."""
    if name in ("self", "cls"):
        return f"leave `{name}` out: the functions of a module take their arguments alone"
    return f"`{name}: {example}`{other}"


def advise_member(buffer: Buffer, name: str) -> str | None:
    """The way out for an attribute that no buffer has, in terms of this one."""
    if name == "size":
        sizes = [f"{buffer.name}.shape[{at}]" for at in range(buffer.ndim)] or ["1"]
        return f"it has so many elements: `{' * '.join(sizes)}`"
    hint, element = _OF_BUFFERS.get(name) or ADVICE.get(name), element_of(buffer)
    if hint is None:
        return f"of each element, in a loop: `T.{name}({element})`" if name in OPS else None
    hint = hint.replace("copied[i]", f"copied{element.removeprefix(buffer.name)}").replace("A[i]", element)
    return hint.replace("A.view", f"{buffer.name}.view")


_SIMPLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
# codes whose place is the value itself, so that a hint may speak of it by its text
OF_A_VALUE = ("T102", "T110", "T112")
_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], type[ast.boolop]]] = {
    ast.In: (ast.Eq, ast.Or),
    ast.NotIn: (ast.NotEq, ast.And),
}


def in_words(hint: str | None, node: Any, text: str) -> str | None:
    """A hint that says `x` for the value at `node`, with the value's own text where that is short."""
    if hint is None or not isinstance(node, ast.expr) or len(text) > 32:
        return hint
    if isinstance(node, ast.Constant) or node.end_lineno != node.lineno:
        return hint
    text = text if isinstance(node, _SIMPLE) else f"({text})"
    return hint.replace("`x.", f"`{text}.").replace("`x ", f"`{text} ")


def advise_test(kind: type[ast.cmpop], left: ast.expr, right: ast.expr) -> str:
    """The way out for `x in (1, 2)`, `x in range(n)`, `x is None`, whose `x` is a value of the program."""
    if isinstance(right, ast.Constant) and right.value is None:
        return "every element has a value: leave the test out, or compare with a number"
    if kind not in _COMPARED:
        return "compare values with `==`"
    equal, join = _COMPARED[kind]
    zero, one, two = map(ast.Constant, range(3))

    def chain(start: ast.expr, stop: ast.expr) -> str:
        return ast.unparse(ast.Compare(start, [ast.LtE(), ast.Lt()], [left, stop]))

    def any_of(items: list[ast.expr]) -> str:
        found: list[ast.expr] = [ast.Compare(left, [equal()], [item]) for item in items]
        return ast.unparse(found[0] if len(found) == 1 else ast.BoolOp(join(), found))

    starred = any(isinstance(part, ast.Starred) for part in ast.walk(right))
    match None if starred else right:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) if 0 < len(items) < 5:
            return f"write the comparisons: `{any_of(items)}`"
        case ast.Call(func=ast.Name(id="range"), args=[*start, stop], keywords=[]) if len(start) < 2:
            inside = chain(start[0] if start else zero, stop)
            return f"write the comparisons: `{inside if kind is ast.In else f'not ({inside})'}`"
    return f"write the comparisons: `{any_of([one, two])}`, or a chain `{chain(zero, ast.Name('n'))}`"
