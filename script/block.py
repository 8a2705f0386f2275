"""Blocks and definitions: axes, regions, attributes, and the buffers that statements declare."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from tirscript.ir.attributes import attribute_problem
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, Label
from tirscript.ir.dtype import INT32, DType
from tirscript.ir.expr import (
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CommReducer,
    Const,
    Expr,
    Ramp,
    Range,
    Var,
    const,
    is_const,
)
from tirscript.ir.index_map import IndexMap
from tirscript.ir.node import NO_ATTRS, Attrs
from tirscript.ir.op import OPS, unify
from tirscript.ir.rewrite import walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import AXIS_KINDS, AllocBuffer, Axis, Bind, Block, DeclBuffer, MatchBuffer, Stmt
from tirscript.ir.target import Target
from tirscript.ir.words import counted, words

from .buffers import BUFFER_ARGUMENTS, BufferLowering
from .meet import together
from .namespace import BufferType, Form, TypeName
from .plain import plain_string, refuse_depth

# what an attribute may be, besides what holds such things
_ATTRIBUTES = (str, int, float, bool, Expr, Buffer, DType, IndexMap, CommReducer, Target)
_LETTERS = {letter: kind for kind, letter in AXIS_KINDS.items()}


class BlockFrame:
    """What a block's head has said so far."""

    def __init__(self, node: ast.With, depth: int) -> None:
        self.node = node
        self.depth = depth
        self.axes: list[Axis] = []
        self.predicate: Expr | None = None
        self.reads: tuple[BufferRegion, ...] | None = None
        self.writes: tuple[BufferRegion, ...] | None = None
        self.annotations: dict[str, Any] = {}
        self.init: tuple[Stmt, ...] | None = None
        self.heads: dict[str, Trivia] = {}
        self.at_axes: dict[int, Trivia] = {}


class BlockLowering(BufferLowering):
    """Lowers blocks and definitions."""

    out: list[Stmt]
    block: BlockFrame | None = None
    lead: list[str]
    # where the comments of the statement that was read are kept, if it is none in the program
    part: tuple[dict[Any, Trivia], Any] | None = None
    heads: dict[str, Trivia]
    loops = 0
    returns: DType | None = None
    result_is_told = False  # whether the annotation of the result is wrong, which says nothing of `return`
    attrs_found: dict[str, Any]
    builtins_range: Any
    statement_forms: ClassVar[dict[str, Callable[..., None]]] = {}
    context_forms: ClassVar[dict[str, Callable[..., None]]] = {}
    definition_forms: ClassVar[dict[str, Callable[..., None]]] = {}

    # blocks

    def _block(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        if name is not None:
            raise self.fail("T022", "a block is not bound to a name", name, hint="leave the `as` out")
        args, kwargs = self.arguments(call)
        kwargs.pop("no_realize", None)
        if len(args) > 1 or kwargs or (args and not isinstance(args[0], str)):
            raise self.fail("T032", "`T.block` takes one name, a string", call, hint='with T.block("name"):')
        outer, self.block = self.block, BlockFrame(node, len(self.scopes) + 1)
        fixed, self.fixed = self.fixed, dict(self.fixed)  # the axes' names are free again behind the block
        try:
            body = self.nested(inner)
            frame = self.block
        finally:
            self.block, self.fixed = outer, fixed
        if self.theirs:
            body = self._lifted(body, frame)
        self.emit(
            Block(
                plain_string(args[0]) if args else "",
                tuple(
                    [
                        axis.replace(trivia=frame.at_axes[at]) if at in frame.at_axes else axis
                        for at, axis in enumerate(frame.axes)
                    ]
                ),
                body,
                frame.init,
                frame.predicate,
                frame.reads,
                frame.writes,
                Attrs(frame.annotations) if frame.annotations else NO_ATTRS,
                tuple(frame.heads.items()),
                span=self.span(node),
            )
        )

    def _lifted(self, body: tuple[Stmt, ...], frame: BlockFrame) -> tuple[Stmt, ...]:
        """A block's body without the buffers that its regions name, which stand in front of the block then.

        TVM printed a buffer over memory from elsewhere where it is used first, in the block and above its regions.
        """
        named = {region.buffer for region in (*(frame.reads or ()), *(frame.writes or ()))}
        own = {axis.var for axis in frame.axes} | {stmt.var for stmt in body if isinstance(stmt, Bind)}
        made = {stmt.buffer for stmt in body if isinstance(stmt, (AllocBuffer, DeclBuffer))}
        kept: list[Stmt] = []
        for stmt in body:
            if (
                type(stmt) is DeclBuffer
                and stmt.buffer in named
                and not any(node in own or (type(node) is BufferData and node.buffer in made) for node in walk(stmt))
            ):
                self.emit(stmt)
            else:
                kept.append(stmt)
        return tuple(kept)

    def nested(self, inner: Callable[[], None]) -> tuple[Stmt, ...]:
        """What `inner` lowers, as a body of its own."""
        raise AssertionError("given by StmtLowering")

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the current body."""
        raise AssertionError("given by StmtLowering")

    def frame(self, what: str, node: ast.AST) -> BlockFrame:
        """The block at whose top level the current statement stands."""
        if self.block is None or self.block.depth != len(self.scopes):
            notes: tuple[Label, ...] = ()
            if self.block is not None:
                notes = (Label(self.span(self.block.node), "the block begins here, and this stands deeper in it"),)
            hint = 'inside of `with T.block("name"):`' if not notes else "move it up, to the first lines of the block"
            raise self.fail("T022", f"{what} stands at the top of a block", node, hint=hint, notes=notes)
        return self.block

    def _init(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        frame = self.frame("`T.init`", node)
        if frame.init is not None:
            raise self.fail("T202", "this block has two inits", node)
        frame.init = self.nested(inner)
        self.part = frame.heads, "init"

    def define_axes(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> bool:
        """`vi, vj = T.axis.remap(...)`: whether the statement was that."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        function = self.value(value.func)
        if not isinstance(function, Form) or not function.name.startswith("axis."):
            return False
        targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        kind = function.name.removeprefix("axis.")
        names = []
        starred: ast.Name | None = None
        for item in targets:
            name = item.value if isinstance(item, ast.Starred) and kind == "remap" and starred is None else item
            if not isinstance(name, ast.Name):
                raise self.fail("T012", "an axis is bound to a name", item)
            if name is not item:
                starred = name
            names.append(name)
        frame = self.frame(f"`T.{function.name}`", node)
        self.part = frame.at_axes, len(frame.axes)
        if kind == "remap":
            self._remap(names, value, frame, node, starred)
        else:
            self._axis(kind, names, value, frame, node)
        return True

    def _fitting_remap(self, names: list[ast.Name], kinds: str, loops: list[Any]) -> str:
        """What is probably meant by a remap whose numbers of names, kinds and loops are not one."""
        called = [loop.name if type(loop) is Var else "i" for loop in loops]
        left = [name.id for name in names]
        if len(left) != len(loops) and len(kinds) == len(loops):
            left = [*left, *(f"v{name}" for name in called[len(left) :])][: len(loops)]
        count = len(left)
        if len(called) < count:  # which loop is left out is not known
            return "give each name a loop"
        return f'{", ".join(left)} = T.axis.remap("{kinds[:count].ljust(count, "S")}", [{", ".join(called[:count])}])'

    def _axis(self, kind: str, names: list[ast.Name], call: ast.Call, frame: BlockFrame, node: ast.stmt) -> None:
        given: dict[str | None, ast.expr] = dict(zip(("dom", "binding"), call.args, strict=False))
        for keyword in call.keywords:
            field = "binding" if keyword.arg == "value" else keyword.arg
            if field in given:
                raise self.fail("T032", f"`{keyword.arg}` is given twice", keyword)
            given[field] = keyword.value
        nodes = [given.pop(key) for key in ("dom", "binding") if key in given]
        given.pop("dtype", None)
        if len(names) != 1 or len(nodes) != 2 or len(call.args) > 2 or given:
            raise self.fail(
                "T032", f"`T.axis.{kind}` takes a domain and a value", call, hint=f"vi = T.axis.{kind}(128, i)"
            )
        domain = self.value(nodes[0])
        if isinstance(domain, (tuple, list)):
            if len(domain) != 2:
                raise self.fail("T032", "a domain is an extent or a pair (start, stop)", nodes[0])
            start, stop = domain
        elif isinstance(domain, Range):
            start, stop = domain.start, domain.stop
        else:
            start, stop = 0, domain
        if isinstance(domain, str):
            raise self.fail("T112", "the domain of an axis is a string", nodes[0], hint=self.symbol_advice(domain))
        value = self.value(nodes[1])
        if isinstance(value, Buffer):
            raise self.fail("T104", f"the whole buffer `{value.name}` is not a value", nodes[1])
        parts = self._one_dtype([start, stop, value], call)
        self._add_axis(names[0], kind, parts[0], parts[1], parts[2], frame, node)
        if self.theirs and start == 0 and type(domain) is int and parts[2].dtype is not INT32:
            frame.axes[-1] = frame.axes[-1].replace(bare=True)

    def _one_dtype(self, values: list[Any], node: ast.expr) -> list[Expr]:
        """Integers of an axis in one dtype: constants take that of the others."""
        bare = [
            item.value if type(item) is Const and item.dtype.is_int and not isinstance(item.value, bool) else item
            for item in values
        ]
        try:
            given = bare if any(isinstance(item, Expr) for item in bare) else values
            exprs = unify(OPS["add"], together(given) if self.theirs else given)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None
        if not exprs[0].dtype.is_int:
            raise self.fail("T112", "an axis is an integer", node)
        return exprs

    def _remap(
        self, names: list[ast.Name], call: ast.Call, frame: BlockFrame, node: ast.stmt, starred: ast.Name | None
    ) -> None:
        if len(call.args) != 2 or call.keywords:
            raise self.fail(
                "T032", "`T.axis.remap` takes the kinds and the loops", call, hint='vi, vj = T.axis.remap("SR", [i, j])'
            )
        kinds, given = self.value(call.args[0]), self.value(call.args[1])
        if isinstance(given, str) and not isinstance(kinds, str):
            one, other = (self.span(arg).text for arg in call.args)
            hint = f"T.axis.remap({other}, {one})"
            raise self.fail("T032", "`T.axis.remap` takes the kinds first, then the loops", call, hint=hint)
        kinds = self.python(call.args[0], "the kinds", (str,))
        if isinstance(given, Expr):
            text = self.span(call.args[1]).text
            raise self.fail("T032", "the loops of `T.axis.remap` are a list", call.args[1], hint=f"write `[{text}]`")
        values = self.iterate(given, call.args[1])
        if starred is not None and len(kinds) == len(values) >= len(names) - 1:
            at = names.index(starred)
            many = [
                ast.copy_location(ast.Name(f"{starred.id}{k}"), starred) for k in range(len(values) - len(names) + 1)
            ]
            names = [*names[:at], *many, *names[at + 1 :]]
        if not len(kinds) == len(values) == len(names):
            counts = ", ".join(
                counted(len(items), word) for word, items in (("kind", kinds), ("loop", values), ("name", names))
            )
            raise self.fail(
                "T032",
                f"`T.axis.remap` takes one kind and one loop for each name; here are {counts}",
                call,
                hint=self._fitting_remap(names, kinds, values),
            )
        for name, letter, value in zip(names, kinds, values, strict=True):
            if letter not in _LETTERS:
                raise self.fail(
                    "T032",
                    f"{letter!r} is no kind of axis",
                    call.args[0],
                    hint="S is spatial, R reduce, C scan, O opaque",
                )
            loop = self.domains.get(value) if type(value) is Var else None
            if loop is None:
                message = "`T.axis.remap` takes the variables of loops around the block"
                if type(value) is Var and value in self.stepped:
                    message = f"the loop over `{value.name}` counts by a step, so it is no domain for an axis"
                raise self.fail("T022", message, call.args[1], hint=f"{name.id} = T.axis.spatial(domain, value)")
            self._add_axis(name, _LETTERS[letter], loop[0], loop[1], value, frame, node)
        if starred is not None:
            self.define(starred.id, [self.lookup(name.id) for name in many])
            self.fixed.setdefault(starred.id, "the axes of a block")

    def _add_axis(
        self, name: ast.Name, kind: str, start: Expr, stop: Expr, value: Expr, frame: BlockFrame, node: ast.stmt
    ) -> None:
        var = Var(name.id, value.dtype, span=self.span(name))
        frame.axes.append(Axis(var, kind, start, stop, value, span=self.span(node)))
        self.define(name.id, var)
        self.fixed.setdefault(name.id, "a block axis")

    # a loop's domain, for T.axis.remap
    domains: dict[Var, tuple[Expr, Expr]]
    # the variables of loops that count by a step
    stepped: set[Var]

    def _where(self, call: ast.Call, node: ast.stmt) -> None:
        frame = self.frame("`T.where`", node)
        if len(call.args) != 1 or call.keywords:
            raise self.fail("T032", "`T.where` takes one condition", call)
        test = self.condition(call.args[0])
        predicate = test if isinstance(test, Expr) else const(bool(test))
        frame.predicate = predicate if frame.predicate is None else OPS["logical_and"](frame.predicate, predicate)
        self.part = frame.heads, "where"

    def _access(self, call: ast.Call, node: ast.stmt) -> None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else "reads"
        frame = self.frame(f"`T.{name}`", node)
        if call.keywords:
            raise self.fail("T032", f"`T.{name}` takes regions", call)
        regions = [region for arg in call.args for region in self.regions(arg)]
        if getattr(frame, name) is not None:
            raise self.fail("T202", f"this block has two `T.{name}`", node)
        setattr(frame, name, tuple(regions))
        self.part = frame.heads, name

    def regions(self, node: ast.expr) -> Iterator[BufferRegion]:
        """The regions of an argument: one, a list of them, or `*` and what holds them while parsing."""
        inner = node.value if isinstance(node, ast.Starred) else node
        if isinstance(inner, (ast.List, ast.Tuple)):
            for item in inner.elts:
                yield from self.regions(item)
        elif isinstance(node, ast.Starred):
            yield from (self.region_of(value, inner) for value in self.iterate(self.value(inner), inner))
        else:
            yield self.region(inner)

    def region_of(self, value: Any, node: ast.expr) -> BufferRegion:
        """A region that is known while parsing: an element, a slice of elements, or a whole buffer."""
        if type(value) is Buffer:
            return BufferRegion(value, tuple(Range(const(0, dim.dtype), dim) for dim in value.shape))
        if type(value) is not BufferLoad:
            raise self.fail("T022", "a region is a buffer or a slice of one, such as `A[0:4, i]`", node)
        ranges = []
        for index in value.indices:
            if type(index) is Ramp and is_const(index.stride, 1):
                base, lanes = index.base, const(index.lanes, index.base.dtype)
                ranges.append(
                    Range(base, const(base.value + index.lanes, base.dtype) if type(base) is Const else base + lanes)
                )
            elif index.dtype.is_vector:
                raise self.fail("T022", "a region is a slice of a buffer without gaps", node)
            else:
                ranges.append(Range(index))
        return BufferRegion(value.buffer, tuple(ranges), span=value.span)

    def _block_attr(self, call: ast.Call, node: ast.stmt) -> None:
        frame = self.frame("`T.block_attr`", node)
        if len(call.args) == 2 and not call.keywords:
            key = self.python(call.args[0], "the key", (str,))
            found = {key: self.bounded_attr(self.value(call.args[1]), call.args[1])}
        elif len(call.args) != 1 or call.keywords:
            raise self.fail("T032", "`T.block_attr` takes a dict, or a key and a value", call)
        else:
            found = dict(self.attrs(call.args[0]))
        for key, value in found.items():
            before = frame.annotations.get(key)
            if self.theirs and isinstance(before, dict) and isinstance(value, dict):
                value = Attrs({**before, **value})  # TVM joins what two calls say of one key
            frame.annotations[key] = value
        self.part = frame.heads, "block_attr"

    def _func_attr(self, call: ast.Call, node: ast.stmt) -> None:
        if len(call.args) != 1 or call.keywords:
            raise self.fail("T032", "`T.func_attr` takes a dict", call, hint='T.func_attr({"global_symbol": "main"})')
        self.attrs_found.update(self.function_attrs(call.args[0]))
        self.part = self.heads, "func_attr"

    def function_attrs(self, node: ast.expr) -> Attrs:
        """A dict of attributes of the function."""
        found = self.attrs(node)
        for name, value in found.items():
            problem = attribute_problem(name, value)
            if problem is not None:
                why, hint = problem
                raise self.fail("T032", f"the attribute `{name}`: {why}", _value_of(node, name), hint=hint)
        return found

    def attrs(self, node: ast.expr) -> Attrs:
        """A dict of attributes."""
        found = self.value(node)
        if found is None and self.theirs:
            return NO_ATTRS
        if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
            raise self.fail("T032", "attributes are a dict with strings as keys", node)
        return Attrs({plain_string(key): self.bounded_attr(value, node) for key, value in found.items()})

    def bounded_attr(self, value: Any, node: ast.expr) -> Any:
        """The value of an attribute, which is not nested without end."""
        refuse_depth(value)
        return self.attr_value(value, node)

    def attr_value(self, value: Any, node: ast.expr) -> Any:
        """An attribute value: numbers, strings, lists, dicts and pieces of the program, nested as one likes."""
        if isinstance(value, dict):
            return {str(self.attr_value(key, node)): self.attr_value(item, node) for key, item in value.items()}
        if type(value) is int and value.bit_length() > 4096:
            raise self.fail("T004", "an attribute holds an integer of over 4,096 bits", node)
        if isinstance(value, (list, tuple)):
            return tuple(self.attr_value(item, node) for item in value)
        if isinstance(value, TypeName):
            return value.dtype
        if value is None or isinstance(value, _ATTRIBUTES):
            return plain_string(value)
        item = getattr(value, "item", None)
        if item is not None:
            return self.ask(item, node)
        hint = "an attribute is a number, a string, a dtype, an expression, or a list or dict of such"
        raise self.fail("T032", f"{words(value)} cannot be an attribute", node, hint=hint)

    # definitions

    def define_construct(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> bool:
        """`name = T.alloc_buffer(...)` and the like: whether the statement was such a definition."""
        if not isinstance(call.func, (ast.Attribute, ast.Name)):
            return False
        function = self.value(call.func)
        if not isinstance(function, Form):
            return False
        if function.name.startswith("axis."):
            return self.define_axes(target, call, node)
        if self.is_meta_var(call):
            self.define(target.id, self.meta_value(call))
            return True
        if function.name not in BUFFER_ARGUMENTS:
            return False
        self.check_assignable(target.id, target)
        given = self.buffer_arguments(function.name, call)
        self.definition_forms[function.name](self, target, given, call, node)
        return True

    def is_meta_var(self, call: ast.Call) -> bool:
        """Whether a call is of `T.meta_var`."""
        if not isinstance(call.func, (ast.Attribute, ast.Name)):
            return False
        function = self.value(call.func)
        return isinstance(function, Form) and function.name == "meta_var"

    def meta_value(self, call: ast.Call) -> Any:
        """The value that `T.meta_var(value)` has while parsing."""
        (value,) = self.form_arguments(call, "meta_var", ("value",))
        return value

    def check_assignable(self, name: str, target: ast.expr) -> None:
        """Refuse names that stay what they are."""
        raise AssertionError("given by StmtLowering")

    def alloc_buffer(self, target: ast.Name, given: dict[str, Any], call: ast.Call, node: ast.stmt) -> None:
        """`A = T.alloc_buffer(...)`."""
        data: Any = given.pop("data", None)
        buffer = self.make_buffer(target, given, call)
        if data is not None and self.value(data) is not None:
            hint = "use `T.decl_buffer` for a view"
            if type(data) is ast.Constant and isinstance(data.value, str):
                hint = f'the third argument is `data`: write `scope="{data.value}"`'
            raise self.fail("T032", "`T.alloc_buffer` makes new memory; it takes no `data`", data, hint=hint)
        annotations = self.attrs(given["annotations"]) if "annotations" in given else NO_ATTRS
        self.define(target.id, buffer)
        of_block: bool | None = ast.unparse(call.func).endswith("sblock_alloc_buffer") or None
        if of_block is None and self.theirs and (self.tiles or "s_tir" in self.options):
            of_block = False  # text before 2026 had one word for both
        self.emit(AllocBuffer(buffer, annotations, of_block, span=self.span(node)))

    def declare_local(self, target: ast.Name, kind: BufferType, node: ast.stmt) -> None:
        """`x: T.float32[m, n]`."""
        self.check_assignable(target.id, target)
        scope = "local" if self.theirs else kind.scope
        buffer = self.buffer_of(target.id, kind.shape, kind.dtype, target, target, scope=scope)
        self.define(target.id, buffer)
        self.emit(AllocBuffer(buffer, span=self.span(node)))

    def decl_buffer(self, target: ast.Name, given: dict[str, Any], call: ast.Call, node: ast.stmt) -> None:
        """`B = T.decl_buffer(..., data=)`; new memory where there is no data."""
        data = self.value(given["data"]) if "data" in given else None
        if data is None:
            self.alloc_buffer(target, {key: value for key, value in given.items() if key != "data"}, call, node)
            return
        if isinstance(data, Buffer):
            data = data.data
        if not isinstance(data, Expr) or not data.dtype.is_handle:
            raise self.fail(
                "T104", "`data` is an address", given["data"], hint="such as `A.data` or `T.address_of(A[0])`"
            )
        buffer = self.make_buffer(target, given, call)
        self.define(target.id, buffer)
        self.emit(DeclBuffer(buffer, data, span=self.span(node)))

    def _match_buffer(self, target: ast.Name, given: dict[str, Any], call: ast.Call, node: ast.stmt) -> None:
        if "source" not in given:
            raise self.fail("T032", "`T.match_buffer` takes a handle or a region first", call)
        place = given["source"]
        source: Any = self.region(place) if isinstance(place, ast.Subscript) else self.value(place)
        if isinstance(source, Buffer):
            source = self.region(place)
        if isinstance(source, Var):
            if not source.dtype.is_handle:
                raise self.fail("T022", f"`{source.name}` is {source.dtype}, not a handle", place)
        elif not isinstance(source, BufferRegion):
            raise self.fail("T022", "`T.match_buffer` takes a handle or a region first", place)
        if isinstance(source, BufferRegion) and "shape" not in given:
            given = {**given, "shape": ast.copy_location(ast.Tuple([], ast.Load()), place)}
            extents = tuple(_extent(part.start, part.stop) for part in source.ranges)
            buffer = self.make_buffer(target, given, call).replace(shape=extents)
            if "dtype" not in given:
                buffer = buffer.replace(dtype=source.buffer.dtype)
        elif isinstance(source, BufferRegion) and "dtype" not in given:
            buffer = self.make_buffer(target, given, call).replace(dtype=source.buffer.dtype)
        else:
            buffer = self.make_buffer(target, given, call)
        self.define(target.id, buffer)
        self.emit(MatchBuffer(buffer, source, span=self.span(node)))


def _value_of(node: ast.expr, key: str) -> ast.expr:
    """Where the value of a key stands in what gives a dict."""
    if isinstance(node, ast.Dict):
        for name, value in zip(node.keys, node.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                return value
    return node


def _extent(start: Expr, stop: Expr | None) -> Expr:
    """How many elements a range has; one where it is an index."""
    if stop is None:
        return const(1, start.dtype)
    if type(start) is Const and type(stop) is Const:
        return const(stop.value - start.value, stop.dtype)
    if type(stop) is Call and stop.op is OPS["add"] and start in stop.args:
        return stop.args[1] if stop.args[0] == start else stop.args[0]
    return stop if is_const(start, 0) else OPS["sub"](stop, start)


BlockLowering.statement_forms = {
    "where": BlockLowering._where,
    "reads": BlockLowering._access,
    "writes": BlockLowering._access,
    "block_attr": BlockLowering._block_attr,
    "func_attr": BlockLowering._func_attr,
}
BlockLowering.context_forms = {"block": BlockLowering._block, "init": BlockLowering._init}
BlockLowering.definition_forms = {
    "alloc_buffer": BlockLowering.alloc_buffer,
    "decl_buffer": BlockLowering.decl_buffer,
    "match_buffer": BlockLowering._match_buffer,
}
