"""Expressions: a syntax node becomes an IR expression, or a Python value where all of it is known while parsing."""

from __future__ import annotations

import ast
from contextlib import suppress
from types import FunctionType
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, suggest
from tirscript.ir.dtype import INT32, DType
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import (
    BufferData,
    BufferLoad,
    Const,
    Expr,
    StringImm,
    Var,
    const,
    integer_text,
)
from tirscript.ir.op import OPS, Op, as_expr, build, unify, wraps
from tirscript.ir.words import call_it, words

from .advice import ADVICE, LIBRARIES, advise, advise_graph, advise_member, advise_test, element_hint
from .choices import ChoiceLowering
from .context import _MISSING, Abort, ModuleRef
from .graph_names import GraphNamespace, TypeForm, UnsupportedForm
from .meet import meet, truth
from .namespace import TILE_NAMESPACES, Namespace, TypeName, Unsupported, other_type, their_names
from .plain import PlainLowering
from .pointer import METHODS, elem_offset
from .python import BINARY, COMPARE, UNARY

_BINARY_OPS = {
    ast.Add: OPS["add"],
    ast.Sub: OPS["sub"],
    ast.Mult: OPS["mul"],
    ast.Div: OPS["div"],
    ast.FloorDiv: OPS["floordiv"],
    ast.Mod: OPS["floormod"],
    ast.Pow: OPS["pow"],
    ast.LShift: OPS["shift_left"],
    ast.RShift: OPS["shift_right"],
    ast.BitAnd: OPS["bitwise_and"],
    ast.BitOr: OPS["bitwise_or"],
    ast.BitXor: OPS["bitwise_xor"],
}
_UNARY_OPS = {ast.USub: OPS["negative"], ast.Invert: OPS["bitwise_not"], ast.Not: OPS["logical_not"]}
_COMPARE_OPS = {
    ast.Eq: OPS["equal"],
    ast.NotEq: OPS["not_equal"],
    ast.Lt: OPS["less"],
    ast.LtE: OPS["less_equal"],
    ast.Gt: OPS["greater"],
    ast.GtE: OPS["greater_equal"],
}
_BUFFER_ATTRIBUTES = (
    "data",
    "shape",
    "dtype",
    "strides",
    "elem_offset",
    "scope",
    "ndim",
    "name",
    "vload",
    "vstore",
    "view",
    "access_ptr",
    "offset_of",
    "align",
    "offset_factor",
)
MAX_LANES = 1 << 16
_THEIRS: dict[str, dict[str, Any]] = {}


class Method:
    """A method of a buffer or an expression, waiting for its call."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


call_it(Method, "method", lambda method: method.name)


class ExprLowering(ChoiceLowering):
    """Lowers expressions. `value` gives whatever a node means, `expr` an IR expression."""

    def expr(self, node: ast.expr, to: DType | None = None) -> Expr:
        """The IR expression that a node means; a bare number takes dtype `to`, or int32, float32 or bool alone."""
        value = self.operand(node)
        if isinstance(value, Expr):
            return value
        if type(value) is TypeName:
            raise self.fail("T104", f"`T.{value.name}` is a dtype, not a value", node)
        try:
            return self.placed(as_expr(value, to), node)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def converted(self, node: ast.expr, to: DType, what: str) -> Expr:
        """A value as stored into a place of dtype `to`."""
        return self.as_placed(self.open_value(node), node, to, what)  # type: ignore[no-any-return]

    def condition(self, node: ast.expr) -> Any:
        """A condition: a bool expression, or a Python value that decides while parsing."""
        value = truth(self.operand(node)) if self.theirs else self.value(node)
        if isinstance(node, ast.Tuple):
            both = len(node.elts) == 2 and isinstance(node.elts[1], (ast.Constant, ast.JoinedStr))
            hint = 'no brackets around both: `assert cond, "message"`' if both else "write the condition alone"
            raise self.fail("T102", "the condition is a tuple, which is always true", node, hint=hint)
        if isinstance(value, Expr) and not value.dtype.is_bool:
            raise self.fail("T102", f"the condition is {value.dtype}, not bool", node, hint="compare it: `x != 0`")
        if isinstance(value, Buffer):
            raise self.fail(
                "T102", f"the condition is the whole buffer `{value.name}`", node, hint="index it and compare"
            )
        return self.decisive(value, node)

    def decisive(self, value: Any, node: ast.expr) -> Any:
        """A value that decides while parsing, which an array of several elements does not."""
        if not isinstance(value, Expr):
            self.ask(lambda: bool(value), node)
        return value

    def index(self, node: ast.expr) -> Expr:
        """An integer expression."""
        found = self.expr(node)
        if not found.dtype.is_int:
            if type(found) is StringImm:
                hint = self.symbol_advice(found.value)
                raise self.fail("T112", "the index is a string, not an integer", node, hint=hint)
            hint = 'cast it: `x.astype("int32")`'
            if type(found) is Const:
                whole = abs(found.value) < 1 << 63 and found.value == int(found.value)
                hint = f"write `{int(found.value)}`" if whole else "write an int"
            raise self.fail("T112", f"the index is {found.dtype}, not an integer", node, hint=hint)
        return found

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is Ellipsis:
            hint = "write a loop over the elements, or a slice of known length: `A[0:4]`"
            raise self.fail("T021", "`...` is not part of the language", node, hint=hint)
        if isinstance(node.value, complex):
            raise self.fail("T021", "complex numbers are not part of the language", node)
        return node.value

    def _name(self, node: ast.Name) -> Any:
        value = self.name_value(node)
        return value if type(value) is Var or type(value) is Buffer else self.used(value, node)

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.operands(self.open_value(node.left), self.open_value(node.right))
        kind = type(node.op)
        if isinstance(left, Expr) or isinstance(right, Expr):
            entry = _BINARY_OPS.get(kind)
            if entry is None:
                raise self.fail(
                    "T021", "`@` is not an operator of tensor functions", node, hint="write the loops, or call a matmul"
                )
            return self.operator(entry, [left, right], node, (node.left, node.right))
        return self.plain(lambda: BINARY[kind](left, right), node, (left, right), (node.left, node.right))

    def operator(self, entry: Op, args: list[Any], node: ast.expr, nodes: tuple[ast.expr, ...] = ()) -> Expr:
        """A call of the table with the typing rules, at the span of `node`."""
        try:
            args = self.settled_choices(entry, args)
            made = meet(entry, args) if self.theirs else build(entry, args)
        except DiagnosticError as problem:
            at: ast.expr = node
            code = problem.diagnostics[0].code
            if code == "T102" and nodes:
                at = nodes[0]
            if code in ("T103", "T104"):
                at = next((n for n, a in zip(nodes, args, strict=False) if not isinstance(a, (Expr, bool))), node)
                if code == "T103":
                    at = next((n for n, a in zip(nodes, args, strict=False) if _unfit(a, problem)), at)
            x = nodes[0] if len(nodes) == 1 else None
            if "the unsigned one" in (problem.diagnostics[0].hint or "") and len(nodes) == len(args):
                x = next((n for n, a in zip(nodes, args, strict=True) if _unsigned(a)), None)
            raise self.located(problem, at, x) from None
        return self.placed(made, node)

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.operand(node.operand)
        if isinstance(operand, Expr):
            if isinstance(node.op, ast.UAdd):
                return operand
            if self.theirs and isinstance(node.op, ast.USub) and type(operand) is Const:
                with suppress(ValueError):  # TVM folds it, where the dtype holds the result
                    made = const(-operand.value, operand.dtype)
                    told = None if operand.told is None else -operand.told
                    return self.placed(made.replace(told=told), node)
            return self.operator(_UNARY_OPS[type(node.op)], [operand], node, (node.operand,))
        return self.plain(lambda: UNARY[type(node.op)](operand), node, (operand,))

    def _boolean(self, node: ast.BoolOp) -> Any:
        entry = OPS["logical_and" if isinstance(node.op, ast.And) else "logical_or"]
        decides = isinstance(node.op, ast.Or)
        result = self.condition(node.values[0])
        for item in node.values[1:]:
            if not isinstance(result, Expr):
                if bool(result) == decides:
                    return result
                result = self.condition(item)
                continue
            right = self.condition(item)
            if isinstance(item, ast.Constant) and not isinstance(item.value, bool):  # `i == 7 or 8`: always true
                message = f"the condition is {words(item.value)}, not bool"
                hint = f"compare a value with it: `... == {item.value!r}`" if item.value else None
                raise self.fail("T102", message, item, hint=hint)
            result = self.operator(entry, [result, right if isinstance(right, Expr) else bool(right)], node)
        return result

    def _compare(self, node: ast.Compare) -> Any:
        places = [node.left, *node.comparators]
        values = [self.open_value(place) for place in places]
        for value, place in zip(values[1:-1], places[1:-1], strict=True):  # each stands in two comparisons
            if isinstance(value, Expr) and has_effect(value):
                hint = "give what it returns a name before"
                raise self.fail("T021", "a call in the middle of a chain would be made twice", place, hint=hint)
        result: Any = None
        for at, kind in enumerate([type(item) for item in node.ops]):
            left, right = self.operands(values[at], values[at + 1])
            if isinstance(left, Expr) or isinstance(right, Expr):
                entry = _COMPARE_OPS.get(kind)
                if entry is None:
                    hint = advise_test(kind, places[at], places[at + 1])
                    raise self.fail("T021", "`is` and `in` do not apply to values of the program", node, hint=hint)
                part: Any = self.operator(entry, [left, right], node, (places[at], places[at + 1]))
            else:
                for item, place in zip((left, right), places[at : at + 2], strict=True):
                    if type(item) is Buffer and kind not in (ast.Is, ast.IsNot):
                        raise self.whole(item, place)
                self.sized((left, right), node)
                part = self.plain(lambda k=kind, a=left, b=right: COMPARE[k](a, b), node, ())  # type: ignore[misc]
            if result is None:
                result = part
            elif isinstance(result, Expr):
                result = self.operator(OPS["logical_and"], [result, part], node)
            else:
                result = result and part  # what is known while parsing decides, as in Python
        return result

    def _conditional(self, node: ast.IfExp) -> Any:
        return self.closed(self.open_conditional(node))

    def whole(self, buffer: Buffer, node: ast.AST, hint: str | None = None) -> Abort:
        """A buffer where a value stands: what is to be raised."""
        hint = hint or element_hint(buffer)
        return self.fail("T104", f"the whole buffer `{buffer.name}` is not a value", node, hint=hint)

    def _library(self, node: ast.Attribute, owner: ast.Name) -> None:
        """`np.exp`, `tl.load`, `jax.nn.relu` in a text that knows no such library."""
        if owner.id in LIBRARIES and self.lookup(owner.id) is _MISSING:
            raise self.fail(
                "T010",
                f"`{owner.id}` is not defined: a kernel calls the functions of T",
                owner,
                hint=advise(node.attr, vars(self.namespace)),
            )

    def _attribute(self, node: ast.Attribute) -> Any:
        root = node.value
        while type(root) is ast.Attribute:
            root = root.value
        if type(root) is ast.Name and root.id in LIBRARIES:
            self._library(node, root)
        if type(node.value) is ast.Name:
            owner = self.name_value(node.value)
            if owner is self.symbols.get(node.value.id) and node.attr not in ("dtype", "astype"):
                # a dimension of the name T, or G, leaves the namespace its names
                owner = self.outer.get(node.value.id, owner)
            self._hides_namespace(node.value.id, owner, node)
        else:
            owner = self.value(node.value)
        if type(owner) is BufferLoad and owner.buffer.scope == "scalar" and node.attr not in ("dtype", "astype"):
            owner = owner.buffer
        if self.theirs and node.attr == "source" and type(owner) in (BufferLoad, Buffer):
            return owner if type(owner) is Buffer else owner.buffer  # TVM's word for what an element is of
        return self.attribute(owner, node.attr, node)

    def _hides_namespace(self, name: str, owner: Any, node: ast.Attribute) -> None:
        """Refuse `T.exp` where `T` is a parameter or a variable; it is told once, at the first such use."""
        hidden = self.outer.get(name)
        if type(hidden) is not Namespace or owner is hidden or node.attr not in vars(hidden):
            return
        if node.attr in (_BUFFER_ATTRIBUTES if type(owner) is Buffer else ("astype", "dtype")):
            return
        if self.unknown.get(name) in self.diagnostics:
            raise Abort(node)
        what = self.fixed.get(name, "a variable")
        problem = self.fail(
            "T030", f"`{name}` is {what} here, which hides the namespace `{name}`", node, hint="use another name"
        )
        self.unknown[name] = self.diagnostics[-1]
        raise problem

    def attribute(self, owner: Any, name: str, node: ast.Attribute) -> Any:
        """`owner.name` for the owners that the language knows; anything of the user's own in a decorated function."""
        cls = type(owner)
        if cls is Namespace:
            found = owner.__dict__.get(name, _MISSING)
            if found is _MISSING and owner._letter == "T":
                found = other_type(name) or _MISSING
            if found is _MISSING and self.theirs:
                found = self.their_names(owner).get(name, _MISSING)
            letter = owner._letter
            tiles = letter.removeprefix("T.") in TILE_NAMESPACES
            if found is _MISSING and tiles and suggest(name, owner.__dict__) is None:
                found = Unsupported(name, letter=letter)
            if found is _MISSING or (name.startswith("_") and type(found) is not Op):
                # `T.math.sqrt`: the function is in the namespace itself
                inner = self.callee.attr if type(self.callee) is ast.Attribute and self.callee.value is node else None
                known = inner in owner.__dict__ and name not in ADVICE
                hint = f"did you mean `{letter}.{inner}`?" if known else advise(name, owner.__dict__, letter)
                raise self.fail("T031", f"`{letter}.{name}` is not a function of {letter}", node, hint=hint)
            if type(found) is Unsupported:
                raise self.fail("T021", f"`{found.letter}.{name}`, {found.what}, is not supported", node)
            return found
        if cls is GraphNamespace:
            return self.graph_attribute(owner, name, node)
        if cls is Buffer:
            return self._buffer_attribute(owner, name, node)
        if isinstance(owner, Expr):
            if name == "dtype":
                return owner.dtype
            if name == "astype":
                return Method(owner, name)
            near = suggest(name, ("astype", "dtype"))
            hint = f"did you mean `{near}`?" if near else ADVICE.get(name, "it has `astype` and `dtype`")
            if name == "cast":
                hint = f'cast it: `{self.span(node.value).text}.astype("float32")`'
            elif name not in ADVICE and name in OPS:
                hint = f"did you mean `T.{name}(x)`?"
            raise self.fail("T030", f"an expression has no `{name}`", node, hint=hint)
        if cls is ModuleRef:
            if name in owner.functions:
                return owner.functions[name]
            near = suggest(name, owner.functions)
            raise self.fail(
                "T030", f"the module has no function `{name}`", node, hint=f"did you mean `{near}`?" if near else None
            )
        if cls is TypeName and name in ("dtype", "ty"):
            return owner.dtype
        if not self.trusted:
            raise self.fail(
                "T003",
                f"the attribute `{name}` is not available to text that is parsed",
                node,
                hint=self.builtin_advice(name) or "attributes are those of T, G, I, buffers and expressions",
            )
        return self.plain(lambda: getattr(owner, name), node, ())

    def graph_attribute(self, owner: GraphNamespace, name: str, node: ast.Attribute) -> Any:
        """`G.name` outside of graph functions, where only decorators and types stand."""
        found = owner.find(name)
        if found is None:
            from tirscript.ir.graph_ops import GRAPH_OPS

            hint = advise_graph(name, GRAPH_OPS)
            near = suggest(name, owner.names()) if hint is None else None
            hint = f"did you mean `{owner._letter}.{near}`?" if near else hint
            raise self.fail("T031", f"`{owner._letter}.{name}` is not a function of {owner._letter}", node, hint=hint)
        if type(found) is UnsupportedForm:
            raise self.fail("T021", f"`{owner._letter}.{name}`, {found.what}, is not supported", node)
        if not isinstance(found, (FunctionType, TypeForm)):
            hint = f"did you mean `T.{name}`?" if name in vars(self.namespace) else None
            raise self.fail("T022", f"`{owner._letter}.{name}` stands in graph functions only", node, hint=hint)
        return found

    def their_names(self, owner: Namespace) -> dict[str, Any]:
        """The names that only TVM's dialect finds in a namespace."""
        if not _THEIRS:
            _THEIRS.update(their_names(vars(self.namespace)))
        return _THEIRS.get(owner._letter, {})

    def _buffer_attribute(self, buffer: Buffer, name: str, node: ast.Attribute) -> Any:
        if name not in _BUFFER_ATTRIBUTES:
            near = suggest(name, _BUFFER_ATTRIBUTES)
            hint = f"did you mean `{near}`?" if near else f"it has {', '.join(_BUFFER_ATTRIBUTES)}"
            raise self.fail("T030", f"a buffer has no `{name}`", node, hint=advise_member(buffer, name) or hint)
        if name == "data":
            return BufferData(buffer, span=self.span(node))
        if name in ("vload", "vstore", "view") or name in METHODS:
            return Method(buffer, name)
        if name == "elem_offset":
            return elem_offset(buffer)
        if name in ("shape", "strides"):
            return tuple(map(self._dimension, getattr(buffer, name) or ()))
        return getattr(buffer, name)

    def _dimension(self, size: Expr) -> Any:
        """A size of a buffer: a Python number where it is known. TVM's has a dtype, which loops to it take over."""
        return size.value if type(size) is Const and (size.dtype is INT32 or not self.theirs) else size


def _unsigned(arg: Any) -> bool:
    """Whether it is the unsigned one of two operands, and to be cast as it is."""
    return isinstance(arg, Expr) and arg.dtype.kind == "uint" and not wraps(arg)


def _unfit(arg: Any, problem: DiagnosticError) -> bool:
    """Whether a literal is the one that a diagnostic says does not fit."""
    shown = integer_text(arg) if isinstance(arg, int) else arg
    return not isinstance(arg, Expr) and problem.diagnostics[0].message.startswith(f"{shown} ")


def same_dtype(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two integers in one dtype; a plain int32 constant takes that of the other."""
    first, second = unify(OPS["add"], [_bare(a), _bare(b)])
    return first, second


def _bare(value: Expr) -> Any:
    return value.value if type(value) is Const and value.dtype is INT32 else value


ExprLowering.rules = {
    **PlainLowering.rules,
    ast.Constant: ExprLowering._constant,
    ast.Name: ExprLowering._name,
    ast.BinOp: ExprLowering._binary,
    ast.UnaryOp: ExprLowering._unary,
    ast.BoolOp: ExprLowering._boolean,
    ast.Compare: ExprLowering._compare,
    ast.IfExp: ExprLowering._conditional,
    ast.Attribute: ExprLowering._attribute,
}
