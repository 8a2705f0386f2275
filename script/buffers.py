"""Buffers: what `T.alloc_buffer` and the other definitions say of shape, dtype and layout, as a `Buffer`."""

from __future__ import annotations

import ast
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import suggest
from tirscript.ir.dtype import FLOAT32, INT32, DType
from tirscript.ir.expr import Expr, Var, const
from tirscript.ir.op import OPS
from tirscript.ir.words import counted, words

from .item_nodes import shape_nodes
from .namespace import BUFFER_PLACES, BufferType, StridedLayout, buffer_places
from .plain import plain_string
from .source import quiet_parse
from .value import ValueLowering

# what T.alloc_buffer and the other definitions take besides the shape, and their order by place
BUFFER_ARGUMENTS = {
    "alloc_buffer": (*BUFFER_PLACES, "annotations", "buffer_type", "axis_separators"),
    "decl_buffer": (*BUFFER_PLACES, "buffer_type", "axis_separators"),
    "match_buffer": (
        "source",
        "shape",
        "dtype",
        "data",
        "strides",
        "elem_offset",
        "scope",
        "align",
        "offset_factor",
        "buffer_type",
        "axis_separators",
        "layout",
        "type",
    ),
}

DEFAULT_ALIGN = 64  # bytes, in TVM


class BufferLowering(ValueLowering):
    """Lowers their arguments."""

    def buffer_arguments(self, name: str, call: ast.Call) -> dict[str, Any]:
        """The syntax nodes of a definition's arguments, by name."""
        fields = BUFFER_ARGUMENTS[name]
        if len(call.args) > len(fields):
            raise self.fail("T032", f"`T.{name}` takes at most {counted(len(fields), 'argument')}", call)
        places = fields if name == "match_buffer" else buffer_places(fields, call.args)
        given: dict[str, Any] = dict(zip(places, call.args, strict=False))
        for keyword in call.keywords:
            field = "source" if keyword.arg in ("obj", "param", "region") and name == "match_buffer" else keyword.arg
            if field not in fields:
                near = suggest(str(field), fields)
                raise self.fail(
                    "T032",
                    f"`T.{name}` has no argument `{field}`",
                    keyword.value,
                    hint=f"did you mean `{near}`?" if near else None,
                )
            if field in given:
                raise self.fail("T032", f"`{field}` is given twice", keyword.value)
            given[field] = keyword.value
        return given

    def make_buffer(self, target: ast.Name, given: dict[str, Any], call: ast.expr) -> Buffer:
        """The buffer that a definition's arguments (syntax nodes) describe."""
        kind = given.get("dtype")
        if "shape" not in given:
            raise self.fail("T032", "the shape is missing", call, hint='such as `(128, 128), "float32"`')
        self.in_signature = "source" in given  # of `match_buffer`, whose shapes may be symbolic
        try:
            shape = self.value(given["shape"])
        finally:
            self.in_signature = False
        name = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else "Buffer"
        named = {"shape": shape, "dtype": None if kind is None else self.value(kind)}
        self.check_order(f"T.{name}", named, given, call)
        type_ = self.dtype_of(self.value(kind), kind) if kind is not None else FLOAT32
        made = BufferType(shape, type_)
        strides = given.get("strides")
        offset = self.value(given["elem_offset"]) if "elem_offset" in given else None
        separators = given.get("axis_separators")
        return self.buffer_of(
            target.id,
            made.shape,
            type_,
            call,
            target,
            strides=None if strides is None else self.value(strides),
            elem_offset=self.byte_offset(given, type_) if offset is None else offset,
            scope=self.python(given["scope"], "the scope", (str,)) if "scope" in given else "global",
            align=self.alignment(given, name == "match_buffer"),
            offset_factor=self.python(given["offset_factor"], "the offset factor", (int,))
            if "offset_factor" in given
            else 0,
            axis_separators=self.value(separators) if separators is not None else (),
            allocated_addr=self.value(given["allocated_addr"]) if "allocated_addr" in given else (),
            layout=self.value(given["layout"]) if "layout" in given else "default",
        )

    def alignment(self, given: dict[str, Any], matched: bool) -> int:
        """The alignment of a buffer. TVM's default is 64, which its printer once wrote out, and which it asks of no
        memory that is `matched`."""
        found: int = self.python(given["align"], "the alignment", (int,)) if "align" in given else 0
        return 0 if self.older and matched and found == DEFAULT_ALIGN else found

    def byte_offset(self, given: dict[str, Any], kind: DType) -> Any:
        """The distance from the data pointer in elements, where `byte_offset` gives it."""
        node = given.get("byte_offset")
        count = None if node is None else self.value(node)
        if count is None:
            return None
        if isinstance(count, Expr):
            return OPS["floordiv"](count, const(kind.itemsize, count.dtype))
        if type(count) is not int or count % kind.itemsize:
            raise self.fail("T207", f"{words(count)} bytes are no whole number of {kind}", node)
        return count // kind.itemsize

    def buffer_of(
        self,
        name: str,
        shape: tuple[Any, ...],
        type_: DType,
        node: ast.expr,
        target: ast.AST,
        *,
        strides: Any = None,
        elem_offset: Any = None,
        scope: str = "global",
        align: int = 0,
        offset_factor: int = 0,
        axis_separators: Any = (),
        allocated_addr: Any = (),
        layout: Any = "default",
    ) -> Buffer:
        """A buffer from plain values: dimensions are ints, expressions or strings over symbols."""
        if type_.is_handle or type_.kind == "void":
            raise self.fail("T109", f"a buffer holds numbers, not {type_}", node)
        if type(layout) is StridedLayout and layout.is_of_rows(tuple(self.dimension(dim, node) for dim in shape)):
            layout = "default"
        scope = self._scope(scope, name, type_, node)
        self._check_options(strides, axis_separators, layout, align, offset_factor, node)
        separators = tuple(axis_separators or ())
        if self.theirs:
            # TVM's strides that are strings are int32, or of the dtype of the shape
            of = next((dim.dtype for dim in shape[:1] if isinstance(dim, Expr) and dim.dtype.is_int), INT32)
            strides = [
                self._stride(name, at, stride, of) if isinstance(stride, (str, Var)) else stride
                for at, stride in enumerate(strides or ())
            ]
            if type(elem_offset) is Var and not elem_offset.name:
                elem_offset = elem_offset.replace(name=f"{name}_elem_offset")  # `elem_offset=T.int32()`
        # TVM writes -1 for "the default"
        align, offset_factor = (0 if number == -1 else number for number in (align, offset_factor))
        if align < 0 or align & (align - 1):
            raise self.fail("T207", f"the alignment {align} is not a power of two", node)
        if offset_factor < 0:
            raise self.fail("T207", f"the offset factor {offset_factor} is negative", node)
        return Buffer(
            name,
            tuple(self.dimension(dim, at) for dim, at in zip(shape, shape_nodes(node, len(shape)))),
            type_,
            None if not strides else tuple(self.dimension(dim, _named(node, "strides"), "a stride") for dim in strides),
            None if elem_offset is None else self.dimension(elem_offset, _named(node, "elem_offset"), "`elem_offset`"),
            scope or "global",
            align,
            offset_factor,
            separators,
            tuple(self.dimension(place, node, "`allocated_addr`") for place in _listed(allocated_addr)),
            "default" if self.options.get("s_tir", not self.tiles) else layout,
            span=self.span(target),
        )

    def _scope(self, scope: Any, name: str, kind: DType, node: ast.expr) -> str:
        """The scope of a buffer, which is no scalar variable."""
        if not isinstance(scope, str):
            raise self.fail("T032", f"the scope of a buffer is a string, not {_kind(scope)}", node)
        plain: str = plain_string(scope)
        if plain == "scalar":
            hint = f"write `{name}: T.{kind} = ...`"
            raise self.fail("T205", 'the scope "scalar" is that of scalar variables', node, hint=hint)
        return plain

    def _check_options(
        self, strides: Any, separators: Any, layout: Any, align: Any, offset_factor: Any, node: ast.expr
    ) -> None:
        """Raise where the options of a buffer are of other kinds, or a layout that means something here."""
        for what, items in (("strides", strides), ("axis separators", separators)):
            if not isinstance(items, (tuple, list, type(None))):
                raise self.fail("T032", f"the {what} of a buffer are a list, not {_kind(items)}", node)
        if layout is not None and not (isinstance(layout, str) and layout == "default"):
            what = f"the layout {layout!r}" if isinstance(layout, str) else "a layout"
            message = f"{what} of a buffer, TVM's for its GPU tile primitives, is not supported"
            raise self.fail("T021", message, node, hint="give the order of the elements by `strides`")
        numbers = [
            ("alignment", align),
            ("offset factor", offset_factor),
            *(("separator", s) for s in separators or ()),
        ]
        for what, number in numbers:
            if type(number) is not int or number >= 1 << 31:
                raise self.fail("T032", f"the {what} of a buffer is an int of 31 bits, not {_kind(number)}", node)

    def _stride(self, buffer: str, at: int, stride: str | Var, kind: DType) -> Any:
        """A stride that TVM gives by name: a new variable for each buffer, whatever names other buffers gave; so is
        one without a name, as `strides=("", 1)` prints it."""
        if not isinstance(stride, str):
            return stride if stride.name else stride.replace(name=f"{buffer}_s{at}")
        if not stride:
            return Var(f"{buffer}_s{at}", kind)
        if not stride.isidentifier():
            return stride
        if stride in self.named_strides:
            return Var(stride, kind)
        if stride not in self.symbols:
            self.named_strides.add(stride)
        return self.symbol(stride, kind)

    def dimension(self, dim: Any, node: ast.expr, what: str = "a dimension") -> Expr:
        """One dimension; a string is an expression over symbolic dimensions. `what` it is called in messages."""
        if isinstance(dim, str):
            return self.symbolic(dim, node)
        if type(dim) is Var and not dim.name:
            raise self.fail("T206", "a symbolic dimension needs a name", node, hint='n = T.int64(), or a string: "n"')
        if type(dim).__name__ == "TypeVar":
            return self.symbol(dim.__name__)
        if isinstance(dim, Expr):
            if not dim.dtype.is_int or dim.dtype.is_vector:
                raise self.fail("T207", f"{what} is {dim.dtype}, not an integer", node)
            return dim
        if isinstance(dim, bool) or not hasattr(type(dim), "__index__"):
            open_end = dim is None or isinstance(dim, slice)
            hint = 'one that is not known has a name, as a string: `"n"`' if open_end else None
            if isinstance(dim, float):
                hint = "`//` gives an integer"
            raise self.fail("T207", f"{what} is {_kind(dim)}, not an integer", node, hint=hint)
        number = self.ask(lambda: int(dim), node)
        if not -(1 << 63) <= number < 1 << 63:
            raise self.fail("T103", f"{what} is too large for int64", node)
        return const(number, "int32" if -(1 << 31) <= number < 1 << 31 else "int64")

    def symbolic(self, text: str, node: ast.expr) -> Expr:
        """A dimension given as a string, such as "n" or "n * 2"."""
        try:
            parsed = quiet_parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.fail("T041", f"the dimension {text!r} is not an expression", node) from None
        for part in ast.walk(parsed):
            for field in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
                if hasattr(part, field):
                    setattr(part, field, getattr(node, field))
        outer, self.symbol_mode = self.symbol_mode, True
        scopes, self.scopes = (
            self.scopes,
            [
                {
                    **self.symbols_in_scope(),
                }
            ],
        )
        # `T.ceildiv(n, 4)` is known here; T alone is the name of a dimension like any other
        owners = {
            part.value.id for part in ast.walk(parsed) if type(part) is ast.Attribute and type(part.value) is ast.Name
        }
        plain, self.outer = (
            self.outer,
            {
                name: value
                for name, value in self.outer.items()
                if name in owners and isinstance(value, type(self.namespace))
            },
        )
        try:
            return self.index(parsed)
        finally:
            self.symbol_mode, self.scopes, self.outer = outer, scopes, plain

    def symbols_in_scope(self) -> dict[str, Any]:
        """Scalars and symbols that a dimension's text may use."""
        found: dict[str, Any] = dict(self.symbols)
        for scope in self.scopes:
            found.update({name: value for name, value in scope.items() if type(value) is Var and value.dtype.is_int})
        return found


def _named(node: Any, name: str) -> Any:
    """The argument of that name in a call; the call where it has none."""
    return next((word.value for word in getattr(node, "keywords", ()) if word.arg == name), node)


def _listed(value: Any) -> Any:
    return value if isinstance(value, (tuple, list)) else () if value is None else (value,)


def _kind(value: Any) -> str:
    return "a float" if isinstance(value, float) else words(value)
