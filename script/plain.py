"""Parse-time Python in a program: sequences, f-strings, comprehensions, and plain operations within their bounds."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Const, Expr
from tirscript.ir.graph import GraphExpr
from tirscript.ir.op import Op
from tirscript.ir.words import counted, without_classes, words

from .advice import ADVICE, element_hint
from .budget import MAX_DEPTH, TOO_DEEP
from .context import Abort, Context, OfSymbols, Poison, Round
from .namespace import BufferType, Form, LetForm, Namespace, OutsideOfKernel, TypeName
from .python import BUILTINS, MAX_ITEMS, TooLarge
from .tvm import DialectFunction

_PLAIN = (int, float, bool, str, bytes, type(None), tuple, list, dict)


def plain_string(value: Any) -> Any:
    """A string of a class of its own, such as numpy's or an enumeration's, as the string that it is; else the value."""
    return str.__str__(value) if isinstance(value, str) else value


def of_the_program(value: Any) -> bool:
    """Whether a value, or one that it holds, is known only when the program runs."""
    return part_of_the_program(value) is not None


def part_of_the_program(value: Any) -> Expr | Buffer | GraphExpr | None:
    """What of a value, or of those that it holds, is known only when the program runs: the first such thing."""
    return next((item for item in inside(value) if isinstance(item, (Expr, Buffer, GraphExpr))), None)


MAX_NESTED = 100  # values at the top of a text, each of which names the next


class PlainLowering(Context):
    """Lowers what is known while parsing. `rules` maps a class of syntax node to the method that lowers it."""

    rules: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}
    names_below = 0  # values at the top of the text that are being evaluated for this function

    def value(self, node: ast.expr) -> Any:
        """The IR expression, buffer or Python value that a syntax node means."""
        rule = self.rules.get(type(node))
        if rule is None:
            raise self.fail("T021", f"{_describe(node)} is not part of the language", node, hint=_HINTS.get(type(node)))
        return rule(self, node)

    def of_symbols(self, value: OfSymbols) -> Any:
        scopes, self.scopes = self.scopes, [{}]
        self.names_below += 1
        try:
            if self.names_below > MAX_NESTED:
                message = f"this is made of over {MAX_NESTED} names, each of the one before"
                raise self.fail("T004", message, value.node)
            return self.value(value.node)
        finally:
            self.scopes = scopes
            self.names_below -= 1

    def indices_of_one(self, items: list[ast.expr]) -> list[Any] | tuple[Any, ...] | None:
        """The indices that one name holds, as `A[iters]` of TVM; None where it holds one or none."""
        if not self.theirs or len(items) != 1 or type(items[0]) is not ast.Name:
            return None
        found = self.value(items[0])
        return found if isinstance(found, (list, tuple)) and found else None

    def condition(self, node: ast.expr) -> Any:
        """A condition: a bool expression, or a Python value that decides while parsing."""
        raise AssertionError("given by ExprLowering")

    def plain(
        self, work: Callable[[], Any], node: ast.expr, operands: tuple[Any, ...], nodes: tuple[ast.expr, ...] = ()
    ) -> Any:
        """Run an operation of parse-time Python within its bounds. `nodes` are the places of the operands."""
        for at, operand in enumerate(operands):
            if isinstance(operand, (Buffer, Form, Op, TypeName, Namespace)):
                hint = element_hint(operand) if isinstance(operand, Buffer) else None
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                    hint = ADVICE["matmul"]
                at_node = nodes[at] if nodes else node
                raise self.fail("T104", f"{words(operand)} is not a value here", at_node, hint=hint)
            if isinstance(operand, BufferType):
                raise self.without_memory(nodes[at] if nodes else node)
            if not self.trusted and not isinstance(operand, _PLAIN):
                hint = self.builtin_advice("Tensor") if self.in_signature else None
                raise self.fail("T003", f"{words(operand)} takes no part in parse-time Python", node, hint=hint)
        try:
            for operand in operands:
                self.budget.made(operand)
            return self.budget.made(work())
        except TooLarge as problem:
            raise self.fail("T004", f"this makes {problem}", node) from None
        except (DiagnosticError, Abort):
            raise
        except Exception as problem:
            raise self.raised(problem, node) from None

    def without_memory(self, node: ast.expr) -> Abort:
        """A `T.Buffer(...)` that is used as a buffer: what is to be raised."""
        return self.fail(
            "T104",
            "`T.Buffer(...)` is the type of a parameter: it has no memory that could be used",
            node,
            hint="`A = T.alloc_buffer(shape, dtype)` allocates memory, `T.decl_buffer(shape, dtype, data=p)` "
            "names some that is there",
        )

    def raised(self, problem: Exception, node: ast.AST) -> Abort:
        """What the user's own Python raised while parsing: what is to be raised."""
        try:
            why = without_classes(str(problem))
        except Exception:
            why = "its message cannot be read"
        if isinstance(problem, OutsideOfKernel):
            hint = "write it in the kernel; `@T.macro` above the function makes its statements part of the kernel"
            return self.fail("T033", f"this runs while parsing, as Python: {why}", node, hint=hint)
        return self.fail("T033", f"{type(problem).__name__} while parsing: {why}", node)

    def ask(self, work: Callable[[], Any], node: ast.AST) -> Any:
        """What an object of the user's own Python answers: its truth, its items, the number that it is."""
        try:
            return work()
        except Exception as problem:
            raise self.raised(problem, node) from None

    def iterate(self, values: Any, node: ast.AST) -> list[Any]:
        """The items of a parse-time sequence, within bounds."""
        if isinstance(values, (Expr, Buffer)) or not hasattr(values, "__iter__"):
            hint = None
            if isinstance(values, Buffer):
                hint = f"index it in a loop: `for i in range({values.name}.shape[0]):`"
            elif isinstance(values, int) or (isinstance(values, Expr) and values.dtype.is_int):
                text = self.span(node).text if isinstance(node, ast.expr) and type(node) is not ast.Starred else ""
                hint = f"a loop to `{text}` is `for i in range({text}):`" if 0 < len(text) < 32 else None
            elif isinstance(values, Form):
                hint = f"call it: `T.{values.name}(...)`"
            raise self.fail("T032", "this is not a sequence known while parsing", node, hint=hint)
        items = self.ask(lambda: list(islice(values, MAX_ITEMS + 1)), node)
        if len(items) > MAX_ITEMS:
            raise self.fail("T004", f"a sequence of over {MAX_ITEMS} items", node)
        self.sized(items, node)
        if len(items) > 8:
            try:
                self.budget.spend(len(items) >> 3)
            except TooLarge as problem:
                raise self.fail("T004", f"this makes {problem}", node) from None
        return items

    def not_called(self, owner: Any, node: ast.Subscript) -> None:
        """Refuse brackets behind what takes its arguments in parentheses, such as `T.grid[4, 4]` and `range[4]`."""
        if not self.in_signature and any(owner is known for known in BUILTINS.values()):
            name, items = self.span(node.value).text, self.span(node.slice).text
            raise self.fail("T022", f"`{name}` is called, not indexed", node, hint=f"write `{name}({items})`")
        if isinstance(owner, (Form, Op, DialectFunction)) and type(owner) is not LetForm:
            name = self.span(node.value).text
            raise self.fail(
                "T022", f"{words(owner)} is called, not indexed", node, hint=f"write `{name}(...)`" if name else None
            )

    def sized(self, value: Any, node: ast.AST) -> Any:
        """A value that parse-time Python made, within bounds."""
        try:
            return self.budget.made(value)
        except TooLarge as problem:
            raise self.fail("T004", f"this makes {problem}", node) from None

    def used(self, value: Any, node: ast.AST) -> Any:
        """An expression that has a name and is written out where that stands, within bounds."""
        try:
            return self.budget.used(value)
        except TooLarge as problem:
            raise self.fail("T004", f"this makes {problem}", node) from None

    def unpacked(self, node: ast.Starred) -> list[Any]:
        """The items of `*values`."""
        return self.iterate(self.value(node.value), node)

    def unpack(self, target: ast.expr, value: Any) -> None:
        """Define the names of a target of parse-time Python."""
        if isinstance(target, ast.Name):
            self.define(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (Expr, int, float)):
                raise self.fail("T033", f"one value for {counted(len(target.elts), 'target')}", target)
            for name, item in self.spread(target, self.iterate(value, target), target):
                self.unpack(name, item)
        else:
            raise self.fail("T012", "only names can be assigned here", target)

    def spread(self, target: ast.Tuple | ast.List, items: list[Any], node: ast.AST) -> list[tuple[ast.expr, Any]]:
        """What each target of several takes; one with a star takes the list that the others leave."""
        stars = [at for at, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
        names = [item.value if isinstance(item, ast.Starred) else item for item in target.elts]
        if len(stars) > 1:
            raise self.fail("T001", "one target takes what the others leave, not several", target.elts[stars[1]])
        if len(items) < len(names) - len(stars) or (len(items) > len(names) and not stars):
            least = "at least " if stars else ""
            raise self.fail(
                "T033", f"{counted(len(items), 'value')} for {least}{counted(len(names) - len(stars), 'target')}", node
            )
        if stars:
            first, count = stars[0], len(items) - len(names) + 1
            items = [*items[:first], items[first : first + count], *items[first + count :]]
        return list(zip(names, items, strict=True))

    def _tuple(self, node: ast.Tuple | ast.List) -> Any:
        items: list[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                items += self.value_behind(items, item, self.unpacked)
            else:
                items.append(self.value_behind(items, item))
        return self.sized(tuple(items) if isinstance(node, ast.Tuple) else items, node)

    def _dict(self, node: ast.Dict) -> Any:
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                extra = self.value(item)
                if not isinstance(extra, dict):
                    raise self.fail("T032", "`**` takes a dict known while parsing", item)
                found.update(extra)
            else:
                name = self.value(key)
                value = self.held(item)
                self.sized(name, key)
                self.plain(lambda n=name, v=value: found.__setitem__(n, v), key, ())  # type: ignore[misc]
        return self.sized(found, node)

    def _joined(self, node: ast.JoinedStr) -> str:
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.sized(self.value(part.value), part.value)
                if of_the_program(value):
                    raise self.fail(
                        "T033",
                        "an f-string holds values known while parsing",
                        part.value,
                        hint='`T.print("x =", x)` prints values when the kernel runs',
                    )
                value = str(value) if isinstance(value, DType) else value
                spec = self._joined(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
                if any(len(digits) > 4 or int(digits) > 1000 for digits in re.findall(r"\d+", spec)):
                    raise self.fail("T004", "a format of over 1,000 characters", part)
                form = {115: str, 114: repr, 97: ascii}.get(part.conversion)
                parts.append(self.plain(lambda v=value, s=spec, f=form: format(f(v) if f else v, s), part, (value,)))  # type: ignore[misc]
            else:
                parts.append(self.value(part))
        if sum(map(len, parts)) > MAX_ITEMS:
            raise self.fail("T004", f"this makes a string of over {MAX_ITEMS:,} characters", node)
        return self.sized("".join(parts), node)  # type: ignore[no-any-return]

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Any:
        items: list[Any] = []
        self._loops(node.generators, lambda: items.append(self.value(node.elt)), node)
        self.sized(items, node)
        return self.plain(lambda: set(items), node, ()) if isinstance(node, ast.SetComp) else items

    def _dict_comprehension(self, node: ast.DictComp) -> Any:
        found: dict[Any, Any] = {}

        def item() -> None:
            key, value = self.sized(self.value(node.key), node.key), self.value(node.value)
            self.plain(lambda: found.__setitem__(key, value), node.key, ())

        self._loops(node.generators, item, node)
        return self.sized(found, node)

    def _loops(self, generators: list[ast.comprehension], work: Callable[[], Any], node: ast.expr) -> None:
        if not generators:
            work()
            return
        first, rest = generators[0], generators[1:]
        for item in self.iterate(self.value(first.iter), first.iter):
            try:
                self.budget.again(node)
            except TooLarge as problem:
                raise self.fail("T004", f"this makes {problem}", node) from None
            self.scopes.append(Round())
            try:
                self.unpack(first.target, item)
                tests = [self.condition(test) for test in first.ifs]
                if any(isinstance(test, Expr) for test in tests):
                    raise self.fail(
                        "T033", "the condition of a comprehension must be known while parsing", first.ifs[0]
                    )
                if all(tests):
                    self._loops(rest, work, node)
            finally:
                self.scopes.pop()

    def _walrus(self, node: ast.NamedExpr) -> Any:
        value = self.value(node.value)
        if isinstance(value, Expr):
            self.keep(node.target.id, Poison())  # told once
            raise self.fail(
                "T021", "`:=` takes values known while parsing", node, hint="assign the value in a statement of its own"
            )
        name = node.target.id
        if isinstance(self.lookup(name), (Expr, Buffer)):
            raise self.fail("T012", f"`{name}` is a value of the program, which `:=` does not change", node.target)
        self.keep(name, value)
        return value

    def _starred(self, node: ast.Starred) -> Any:
        raise self.fail("T021", "`*` unpacks only in a call, an index or a sequence", node)

    def python(self, node: ast.expr, what: str, kinds: tuple[type, ...]) -> Any:
        """A value that must be known while parsing."""
        value = self.value(node)
        if isinstance(value, Const):
            value = value.value
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.fail("T032", f"{what} must be {_kinds(kinds)} known while parsing", node)
        return plain_string(value)

    def arguments(
        self, node: ast.Call, value: Callable[[ast.expr], Any] | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        """The argument values of a call; `value` reads those by place."""
        args: list[Any] = []
        for arg in node.args:
            if type(arg) is ast.Starred:
                args += self.value_behind(args, arg, self.unpacked)
            else:
                args.append(self.value_behind(args, arg, value))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg in kwargs:
                raise self.fail("T032", f"`{keyword.arg}` is given twice", keyword)
            found = [*args, *kwargs.values()]
            given = self.value_behind(found, keyword.value)
            args, kwargs = found[: len(args)], dict(zip(kwargs, found[len(args) :], strict=True))
            if keyword.arg is not None:
                kwargs[keyword.arg] = given
            elif isinstance(given, dict):
                kwargs.update(given)
            else:
                raise self.fail("T032", "`**` takes a dict known while parsing", keyword.value)
        return args, kwargs

    def value_behind(self, found: list[Any], node: ast.expr, value: Callable[[Any], Any] | None = None) -> Any:
        """The value of a node that stands behind those of the values `found`, as `value` reads it.

        Where values need steps of their own, those of `found` come first.
        """
        return (value or self.value)(node)

    def held(self, node: ast.expr) -> Any:
        """The value of a node that a dict holds, which may be used often, or not at all."""
        return self.value(node)

    def by_place(self, entry: Op, node: ast.Call) -> ast.Call:
        """A call of an operator with all arguments by place that it gives by name, but for the dtype of the result."""
        if not node.keywords or entry.make is not None:
            return node
        named = {word.arg: word.value for word in node.keywords if word.arg is not None}
        if len(named) != len(node.keywords) or any(type(arg) is ast.Starred for arg in node.args):
            return node  # `call_entry` knows what is unpacked
        rest = [word for word in node.keywords if word.arg == "dtype"]
        named.pop("dtype", None)
        return ast.copy_location(ast.Call(node.func, self.completed(entry, node.args, named, node), rest), node)

    def completed(self, entry: Op, args: Sequence[Any], named: dict[str, Any], node: ast.Call) -> list[Any]:
        """The arguments by place of a call of an operator, completed by those that it gives by name."""
        try:
            return entry.by_place(args, named, called_name(entry, node))
        except TypeError as problem:
            wrong = entry.misfit(len(args), named)
            keywords = {word.arg: word for word in node.keywords}
            place = node if wrong is None else keywords.get(wrong) or keywords[None]  # None: that of `**`
            raise self.fail("T032", str(problem), place, hint=f"it is: {entry.doc.rstrip('.')}") from None


def called_name(entry: Op, node: ast.Call) -> str:
    """How a call names the operator, which may be by an alias."""
    return f"T.{node.func.attr if isinstance(node.func, ast.Attribute) else entry.name}"


def argument_place(node: ast.Call, at: int, name: str) -> ast.expr:
    """Where the argument of a call stands that is given by place `at` or by name; the call where it is not given."""
    named = [keyword.value for keyword in node.keywords if keyword.arg == name]
    return named[0] if named else node.args[at] if -len(node.args) <= at < len(node.args) else node


def inside(value: Any) -> Iterator[Any]:
    """A value, or those in a list, tuple or dict, however deep."""
    stack, seen = [value], set()
    while stack:
        one = stack.pop()
        if not isinstance(one, (dict, list, tuple)):
            yield one
        elif id(one) not in seen:
            seen.add(id(one))
            stack += one.values() if isinstance(one, dict) else one


def refuse_depth(value: Any) -> None:
    """TooLarge for lists, tuples and dicts in each other without end: what reads programs does so by recursion."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        held = {id(one): one for one in level if isinstance(one, (dict, list, tuple))}
        if not held:
            return
        level = [item for one in held.values() for item in (one.values() if isinstance(one, dict) else one)]
    raise TooLarge(TOO_DEEP)


def _kinds(kinds: tuple[type, ...]) -> str:
    words = {
        int: "an int",
        str: "a string",
        float: "a float",
        bool: "a bool",
        dict: "a dict",
        tuple: "a tuple",
        list: "a list",
    }
    return " or ".join(words.get(kind, kind.__name__) for kind in kinds)


def _describe(node: ast.AST) -> str:
    return _NAMES.get(type(node), type(node).__name__)


_NAMES: dict[type, str] = {
    ast.Lambda: "`lambda` here",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.Slice: "a slice here",
    ast.Set: "a set",
}
_HINTS: dict[type, str] = {
    ast.Lambda: "a lambda stands only as an index map or in `T.let`; for a function of your own use `@T.macro`",
    ast.Yield: "a kernel writes its results into buffers",
    ast.YieldFrom: "a kernel writes its results into buffers",
    ast.Await: "a tensor function runs to its end at once",
    ast.Set: "use a list or a tuple",
    ast.Slice: "index a buffer with it: `A[i:i + 4]`",
}
PlainLowering.rules = {
    ast.Tuple: PlainLowering._tuple,
    ast.List: PlainLowering._tuple,
    ast.Dict: PlainLowering._dict,
    ast.JoinedStr: PlainLowering._joined,
    ast.ListComp: PlainLowering._comprehension,
    ast.GeneratorExp: PlainLowering._comprehension,
    ast.SetComp: PlainLowering._comprehension,
    ast.DictComp: PlainLowering._dict_comprehension,
    ast.NamedExpr: PlainLowering._walrus,
    ast.Starred: PlainLowering._starred,
}
