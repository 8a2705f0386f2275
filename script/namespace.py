"""What `T` and `I` are at run time: the names that programs use.

Inside a kernel the parser looks names up here; outside, Python evaluates decorators and annotations with these objects.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

from tirscript.ir.dtype import KEPT, MISSING, NAMED_LANES, DType, dtype, pointer, scalar_names
from tirscript.ir.expr import Call, Const, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import ALIASES, FOREIGN, OPS, as_expr
from tirscript.ir.target import Target
from tirscript.ir.words import call_it, words

from .limits import special_float
from .python import is_numpy_scalar
from .tvm import CONSTRUCTS, DTYPES, OLDER_INTRINSICS, THEIRS, DialectFunction, tvm_names

# constructs that are no operators: name -> what it is for; `lower*.py` have a rule for each
_LOOPS = {
    "serial": "an ordinary loop: `for i in T.serial(n)`",
    "parallel": "a loop whose iterations run at once",
    "vectorized": "a loop that becomes vector instructions",
    "unroll": "a loop that is written out",
    "thread_binding": 'a loop over the threads of a GPU: `T.thread_binding(n, thread="threadIdx.x")`',
    "grid": "nested loops: `for i, j in T.grid(4, 4)`",
}
_STATEMENTS = {
    "evaluate": "a call for its effect: `T.evaluate(call)`",
    "static_assert": "a condition that must be proved when compiled: `T.static_assert(cond, msg)`",
    "assume": "a condition that is trusted: `T.assume(cond)`",
    "func_attr": "attributes of the function: `T.func_attr({...})`",
    "block_attr": 'attributes of the block: `T.block_attr({...})` or `T.block_attr("key", value)`',
    "reads": "the regions that the block reads: `T.reads(A[i, 0:4])`",
    "writes": "the regions that the block writes: `T.writes(A[i])`",
    "where": "the block's predicate: `T.where(cond)`",
}
_DEFINITIONS = {
    "alloc_buffer": "memory of the function or block: `A = T.alloc_buffer(shape, dtype, scope=)`",
    "decl_buffer": "another view of memory: `B = T.decl_buffer(shape, dtype, data=A.data)`",
    "match_buffer": "a buffer over a handle or a region: `A = T.match_buffer(a, shape, dtype)`",
    "allocate_const": 'memory that holds constants: `K = T.allocate_const([1, 2, 3, 4], "int32", (4,))`',
    "launch_thread": 'the rest of the body by many threads at once: `with T.launch_thread("blockIdx.x", 64) as bx:`',
    "env_thread": 'a thread that several statements launch: `bx = T.env_thread("blockIdx.x")`',
    "meta_var": "a value used while parsing: `x = T.meta_var(expr)`",
}
_CONTEXTS = {
    "block": 'the unit that schedules move: `with T.block("name"):`',
    "init": "what runs before a block's reduction: `with T.init():`",
    "attr": "an attribute around statements: `with T.attr(node, key, value):`",
}
_VALUES = {
    "ramp": "a vector base, base + stride, ...: `T.ramp(base, stride, lanes)`",
    "broadcast": "a vector with one value in every lane: `T.broadcast(value, lanes)`",
    "let": 'a binding in an expression: `T.let("x", value, lambda x: body)`; as an annotation, an immutable binding',
    "Let": "TVM's binding in an expression: `T.Let(body, where={x: value})`",
    "min_value": 'the least value of a dtype: `T.min_value("int32")`',
    "max_value": 'the greatest value of a dtype: `T.max_value("int32")`',
    "infinity": 'infinity of a dtype: `T.infinity("float32")`',
    "comm_reducer": "how partial results are combined: `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`",
    "Reduce": "values combined over axes: `T.Reduce(combiner, lambda k: [A[k]], [16])`",
    "Shuffle": "lanes of vectors put together anew: `T.Shuffle([a, b], [1, 0])`",
    "constant": 'constants by their digest: `K = T.constant("sha256:…", (64, 64), "float32")`',
    "var": 'a symbolic variable: `n = T.var("int64")`',
}


class OutsideOfKernel(TypeError):
    """A construct of kernels was called by Python."""


class Form:
    """A construct of the language. Calling one outside of a kernel is a mistake, and says so."""

    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise OutsideOfKernel(f"`T.{self.name}` stands inside a function decorated with @T.prim_func: {self.__doc__}")

    def __getitem__(self, item: Any) -> Any:
        return self(item)

    def __repr__(self) -> str:
        return f"<T.{self.name}>"


class LetForm(Form):
    """`T.let`: also an annotation, `x: T.let[T.int32] = 3`."""

    def __getitem__(self, item: Any) -> LetType:
        return LetType(None if item is None else _plain_dtype(item))


class LetType:
    """The annotation of an immutable binding; `dtype` of None is the value's."""

    def __init__(self, type_: DType | None) -> None:
        self.dtype = type_

    def __repr__(self) -> str:
        return "<T.let>" if self.dtype is None else f"<T.let[T.{self.dtype}]>"


class ValueForm(Form):
    """A construct that is also a Python function, so that a program can be given what it makes."""

    def __init__(self, name: str, doc: str, function: Callable[..., Any]) -> None:
        super().__init__(name, doc)
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class ModuleForm(Form):
    """A construct that stands in the body of a module's class, where Python runs it: it does nothing there."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """The parser reads the construct from the source."""


class TypeName:
    """`T.float32`: an annotation, a cast or constant (`T.float32(x)`), a fresh symbol (`T.int64()`), or with
    `T.float32[m, n]` the annotation of a local buffer."""

    def __init__(self, type_: DType) -> None:
        self.dtype = type_
        self.name = type_.name
        self.__name__ = type_.name
        self.__doc__ = f"The element type {type_.name}."

    def __call__(self, value: Any = None, scope: str = "global", *, storage_scope: str | None = None) -> Any:
        if self.dtype.is_handle:
            if value is None and storage_scope is not None:
                return TypeName(pointer("void", storage_scope))
            return self if value is None else TypeName(pointer(_plain_dtype(value), storage_scope or scope))
        if value is None:
            return Var("", self.dtype)
        if isinstance(value, str):
            value = special_float(value, self.dtype)
        if is_numpy_scalar(value):
            value = value.item()
        if isinstance(value, (int, float)) and self.dtype.is_float and not self.dtype.is_vector:
            return as_expr(value, self.dtype)  # a literal, which has to fit
        return OPS["cast"](value, self.dtype)

    def __getitem__(self, shape: Any) -> BufferType:
        return BufferType(shape if isinstance(shape, tuple) else (shape,), self.dtype)

    def __repr__(self) -> str:
        return f"<T.{self.name}>"


class PointerType:
    """`T.Ptr(T.float32, "shared")`, or the older `T.Ptr[T.float32]`: TVM's `T.handle("float32", "shared")`."""

    __name__ = name = "Ptr"

    def __call__(self, pointee: Any, scope: str = "global") -> TypeName:
        return TypeName(pointer(_plain_dtype(pointee), scope))

    def __getitem__(self, item: Any) -> TypeName:
        return self(*item) if isinstance(item, tuple) else self(item)

    def __repr__(self) -> str:
        return "<T.Ptr>"


# the arguments of T.Buffer, T.alloc_buffer and T.decl_buffer by place, as TVM 0.27 has them, and before 2025
BUFFER_PLACES = (
    *("shape", "dtype", "data", "strides", "elem_offset", "byte_offset"),
    *("scope", "align", "offset_factor", "layout", "allocated_addr"),
)
_OLDER_PLACES = (
    *("shape", "dtype", "data", "strides", "elem_offset"),
    *("scope", "align", "offset_factor", "buffer_type", "axis_separators"),
)


def buffer_places(fields: tuple[str, ...], args: Sequence[Any]) -> tuple[str, ...]:
    """What the arguments by place (values or syntax nodes) are called: the scope, a string, was the sixth once."""
    sixth = args[5] if len(args) > 5 else None
    older = isinstance(sixth.value if type(sixth) is ast.Constant else sixth, str)
    return _OLDER_PLACES if older else fields


class BufferType:
    """`T.Buffer(shape, dtype, ...)`: the annotation of a parameter. Dimensions are ints, variables, or strings.

    Raises ValueError for `data`, since the memory of a parameter is its caller's.
    """

    FIELDS = (*BUFFER_PLACES, "buffer_type", "axis_separators")

    def __init__(
        self,
        shape: Any,
        dtype: Any = "float32",
        data: Any = None,
        strides: Any = None,
        elem_offset: Any = None,
        byte_offset: Any = None,
        scope: str = "global",
        align: int = 0,
        offset_factor: int = 0,
        layout: Any = "default",
        allocated_addr: Any = (),
        buffer_type: str = "",
        axis_separators: Any = (),
    ) -> None:
        if data is not None:
            raise ValueError("the memory of a parameter is its caller's: it takes no `data`")
        self.shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        self.dtype = _plain_dtype(dtype)
        if elem_offset is None and byte_offset is not None:
            if type(byte_offset) is not int or byte_offset % self.dtype.itemsize:
                count = byte_offset if type(byte_offset) is int else words(byte_offset)
                raise ValueError(f"{count} bytes are no whole number of {self.dtype}")
            elem_offset = byte_offset // self.dtype.itemsize
        self.strides = None if strides is None or strides == [] else tuple(strides)
        self.elem_offset = elem_offset
        self.scope = scope
        self.align = align
        self.offset_factor = offset_factor
        self.axis_separators = tuple(axis_separators or ())
        self.layout = layout
        self.allocated_addr = allocated_addr

    def __repr__(self) -> str:
        return f'<T.Buffer({self.shape}, "{self.dtype}")>'


class StridedLayout:
    """TVM's layout of a buffer by the strides of its dimensions, which it prints where sizes are symbolic."""

    def __init__(self, sizes: tuple[Any, ...], steps: tuple[Any, ...]) -> None:
        self.sizes, self.steps = sizes, steps

    def is_of_rows(self, shape: tuple[Any, ...]) -> bool:
        """Whether the elements of this shape stand in rows, as they do where no layout is said."""
        if not len(shape) == len(self.sizes) == len(self.steps):
            return False
        inside: list[Any] = []
        for dim, size, step in zip(reversed(shape), reversed(self.sizes), reversed(self.steps), strict=True):
            if not (_one_product([dim], [size]) and _one_product([step], inside)):
                return False
            inside.append(size)
        return True


call_it(StridedLayout, "layout")


def _one_product(left: list[Any], right: list[Any]) -> bool:
    """Whether two products have the same factors, in any order."""
    (number, factors), (other, others) = _factors(left), _factors(right)
    for factor in factors:
        at = next((place for place, one in enumerate(others) if one == factor), None)
        if at is None:
            return False
        del others[at]
    return number == other and not others


def _factors(values: list[Any]) -> tuple[int, list[Any]]:
    """The factors of a product: all numbers as one, and the others."""
    number, rest, waiting = 1, [], list(values)
    while waiting:
        value = waiting.pop()
        value = value.value if type(value) is Const else value
        if type(value) is int:
            number *= value
        elif type(value) is Call and value.op is OPS["mul"]:
            waiting += value.args
        else:
            rest.append(value)
    return number, rest


class WrongBufferType:
    """What arguments of `T.Buffer` gave that are wrong.

    Python evaluates the annotations of a function before its decorator, which reads them in the source and tells what
    is wrong at its place; where a name stands for this, `problem` is told.
    """

    def __init__(self, problem: Exception) -> None:
        self.problem = problem


class BufferForm:
    """`T.Buffer(shape, dtype)`, or the older `T.Buffer[shape, dtype]`."""

    __name__ = "Buffer"
    name = "Buffer"

    def __call__(self, *args: Any, **kwargs: Any) -> BufferType | WrongBufferType:
        try:
            places = buffer_places(BufferType.FIELDS, args)
            if places is BufferType.FIELDS:
                return BufferType(*args, **kwargs)
            return BufferType(**dict(zip(places, args, strict=False)), **kwargs)
        except Exception as problem:  # an argument of the user's own class may raise anything
            return WrongBufferType(problem)

    def __getitem__(self, item: Any) -> BufferType | WrongBufferType:
        if isinstance(item, tuple) and len(item) == 2 and not isinstance(item[1], int):
            return self(item[0], item[1])
        return self(item)

    def __repr__(self) -> str:
        return "<T.Buffer>"


def other_type(name: str) -> TypeName | None:
    """`T.int8x128`, `T.int4`: the dtype of vectors of any number of lanes, or one that is kept and not computed, by its
    name; None where it is no such name."""
    if name not in KEPT and not _VECTOR.fullmatch(name):
        return None
    try:
        return TypeName(dtype(name))
    except ValueError:
        return None


def _plain_dtype(value: Any) -> DType:
    return value.dtype if isinstance(value, TypeName) else dtype(value)


class Namespace:
    """An object whose attributes are the names of a namespace; a wrong one raises AttributeError with a suggestion."""

    def __init__(self, letter: str, names: dict[str, Any], doc: str) -> None:
        self.__dict__.update(names)
        self._letter = letter
        self.__doc__ = doc

    def __getattr__(self, name: str) -> Any:
        from .advice import advise_absent

        found = other_type(name) if self._letter == "T" else None
        if found is not None:
            return found
        advice = advise_absent(name, self._letter, self.__dict__)
        raise AttributeError(
            f"`{self._letter}.{name}` does not exist" + (f"; {advice}" if advice else ""),
            name=name,  # without its object, so that Python does not suggest the same again
        )

    def __repr__(self) -> str:
        return f"<namespace {self._letter}>"

    def __reduce__(self) -> Any:
        """There is one of each: a copy is the namespace itself, also in another process."""
        return _namespace, (self._letter,)


def _namespace(path: str) -> Any:
    from .entry import _NAMESPACES

    first, *inner = path.split(".")
    found: Any = _NAMESPACES[first]
    for name in inner:
        found = getattr(found, name)
    return found


class Unsupported:
    """A name of TVM's for what is not part of the language, mostly its GPU tile primitives."""

    def __init__(self, name: str, what: str = "a tile primitive of TVM for GPUs", letter: str = "T") -> None:
        self.name, self.what, self.letter = name, what, letter

    def __repr__(self) -> str:
        return f"<{self.letter}.{self.name}, not supported>"


def _dotted() -> dict[str, Any]:
    """The intrinsics with names such as `s_tir.ldg32`, in a namespace for each first part."""
    groups: dict[str, dict[str, Any]] = {}
    for name, entry in FOREIGN.items():
        first, dot, rest = name.partition(".")
        if dot:
            groups.setdefault(first, {})[rest] = entry
    return {
        first: Namespace(f"T.{first}", entries, "Intrinsics of other machines.") for first, entries in groups.items()
    }


TILE_NAMESPACES = ("ptx", "ptx_legacy", "cuda", "nvshmem", "nki", "metal", "tile", "cluster", "warp", "TileLayout")
# of the same kind, in text of TVM's dialect only: some are ordinary words
TILE_NAMES = (
    *("cta", "thread", "wg", "warpgroup", "cta_id", "thread_id", "lane_id", "warp_id", "warpgroup_id", "cluster_id"),
    *("cta_id_in_cluster", "cta_id_in_pair", "thread_id_in_wg", "warp_id_in_wg", "scope_id", "device_entry", "S", "R"),
    *(
        "ComposeLayout",
        "Layout",
        "Iter",
        "ExecScope",
        "ScopeIdDef",
        "SMEMPool",
        "TMEMPool",
        "TensorMap",
        "smem",
        "tmem",
    ),
    *("wg_reg_tile", "alloc_tcgen05_ldst_frag", "alloc_cast_frag", "tensormap_encode_tiled", "filter", "selector"),
    *(
        "cooperative_tensor_fill",
        "cooperative_tensor_load",
        "cooperative_tensor_store",
        "meta_class",
        "constexpr",
        "jit",
    ),
    "cooperative_tensor_multiply_accumulate",
)
# what else only TVM has, with what it is
THEIR_NAMES = {
    "call_kernel": "the launch of a GPU kernel that is given as source",
    "realize": "TVM's old allocation of a part of a buffer (`T.alloc_buffer` allocates one)",
}
call_it(Form, "construct", lambda form: f"T.{form.name}")
call_it(LetForm, "annotation", lambda form: f"T.{form.name}")
call_it(ModuleForm, "construct", lambda form: f"I.{form.name}")
call_it(DialectFunction, "function", lambda function: f"T.{function.name}")
call_it(TypeName, "dtype", lambda kind: f"T.{kind.name}")
call_it(BufferForm, "annotation", lambda form: f"T.{form.name}")
call_it(BufferType, "type of a buffer")
call_it(WrongBufferType, "`T.Buffer` with wrong arguments")
call_it(PointerType, "annotation", lambda form: f"T.{form.name}")
call_it(LetType, "annotation of a binding")
call_it(Namespace, "namespace", lambda namespace: namespace._letter)

_VECTOR = re.compile(r"[a-z]+\d+(_[a-z0-9]+)?x(vscalex)?\d+")
AXES = {
    "spatial": "an axis of a block, whose iterations may run in any order: `vi = T.axis.spatial(128, i)`",
    "reduce": "an axis over which a block combines values: `vk = T.axis.reduce(128, k)`",
    "scan": "an axis whose iterations use those before: `vt = T.axis.scan(128, t)`",
    "opaque": "an axis of which nothing is promised: `vi = T.axis.opaque(128, i)`",
    "remap": 'several axes, S for spatial and R for reduce: `vi, vk = T.axis.remap("SR", [i, k])`',
}


def tir_names(decorators: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    """Everything that `T` holds: operators, dtypes, constructs and the decorators."""
    names: dict[str, Any] = dict(decorators)
    for name, entry in OPS.items():
        names[name] = entry
    names.update({name: entry for name, entry in FOREIGN.items() if "." not in name})
    names.update(_dotted())
    names.update({name: Unsupported(name) for name in TILE_NAMESPACES if name not in names})
    names.update({name: Unsupported(name, what) for name, what in MISSING.items()})
    for alias, name in ALIASES.items():
        names[alias] = OPS[name]
    for name in scalar_names():
        names[name] = TypeName(dtype(name))
    for table in (_LOOPS, _STATEMENTS, _DEFINITIONS, _CONTEXTS, _VALUES, CONSTRUCTS):
        for name, doc in table.items():
            names[name] = Form(name, doc)
    for form in (
        ValueForm("index_map", "where elements are found: `T.index_map(lambda i, j: (j, i))`", IndexMap.of),
        ValueForm("target", 'a machine to build for: `T.target("llvm -mcpu=skylake")`', Target.parse),
    ):
        names[form.name] = form
    names["let"] = LetForm("let", _VALUES["let"])
    names["Buffer"] = BufferForm()
    axes = {name: Form(f"axis.{name}", doc) for name, doc in AXES.items()}
    names["axis"] = Namespace("T.axis", {**axes, "S": axes["spatial"], "R": axes["reduce"]}, "Block axes.")
    for lanes in NAMED_LANES:
        for name in scalar_names():
            if name not in ("handle", "void"):
                names[f"{name}x{lanes}"] = TypeName(dtype(f"{name}x{lanes}"))
                names[f"{name}xvscalex{lanes}"] = TypeName(dtype(f"{name}xvscalex{lanes}"))
    names.update(tvm_names(names))
    return names


def their_names(names: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What text in TVM's dialect finds in a namespace besides its own names, by the namespace."""
    axes = vars(names["axis"])
    return {
        "T": {
            **{name: Unsupported(name) for name in TILE_NAMES},
            **{older: FOREIGN[today] for older, today in OLDER_INTRINSICS.items()},
            "tir": Namespace("T.tir", {"cuda": names["cuda"]}, "Intrinsics, as they were printed before 2025."),
            **{name: Unsupported(name, what) for name, what in THEIR_NAMES.items()},
            **{name: Form(name, doc) for name, doc in THEIRS.items()},
            "Bind": Form("bind", THEIRS["bind"]),
            **{theirs: names[ours] for theirs, ours in DTYPES.items()},
            "buffer_var": names["handle"],
            "function": names["prim_func"],
            **dict.fromkeys(("Tensor", "buffer"), names["Buffer"]),
            "Ptr": PointerType(),
            "ptr": PointerType(),
            "tvm_call_packed": OPS["call_packed"],
        },
        "T.axis": {"S": axes["spatial"], "R": axes["reduce"]},
        "I": {
            "pyfunc": Form("pyfunc", THEIRS["pyfunc"]),
            "dynamic": Form("dynamic", THEIRS["dynamic"]),
            "meta_var": names["meta_var"],
        },
    }
