"""Functions and modules: signature, attributes, body."""

from __future__ import annotations

import ast
import contextlib
import re
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import Diagnostic, suggest
from tirscript.ir.dtype import DType, dtype, scalar_names
from tirscript.ir.expr import Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphFunc, GraphType
from tirscript.ir.node import NO_ATTRS, Attrs, recursion_room
from tirscript.ir.span import Source
from tirscript.ir.verify import verify

from .advice import advise_type
from .buffers import DEFAULT_ALIGN
from .context import Abort, ModuleRef, Poison
from .macro import MacroLowering
from .namespace import BufferForm, BufferType, Namespace, TypeName, WrongBufferType
from .python import BUILTINS
from .scope import Names
from .trivia import Comments, header_end, trivia

_OPTIONS = ("private", "check_well_formed", "s_tir")
_SURE = ("T113", "T209")  # constant indices out of bounds, races: no statement that is missing makes them right


class FunctionLowering(MacroLowering):
    """Lowers one function definition."""

    def __init__(
        self,
        node: ast.FunctionDef | None,
        source: Source,
        outer: dict[str, Any],
        *,
        trusted: bool,
        comments: Comments | None,
        namespace: Namespace,
        module: ModuleRef | None = None,
    ) -> None:
        super().__init__(source, outer, trusted=trusted)
        self.node: Any = node
        self.comments = comments
        self.namespace = namespace
        self.options: dict[str, bool] = {}
        self.module = module
        self.out = []
        self.orphans = []
        self.heads = {}
        self.lead = []
        self.opened = []
        self.early = False
        self.domains = {}
        self.stepped = set()
        self.addresses = set()
        self.waiting = {}
        self.attrs_found = {}
        self.of_signature = set()
        self.definition = node.body if node is not None else []
        self.builtins_range = BUILTINS["range"]
        self.params: list[Var | Buffer] = []
        # parameters of types that only the other kind of function has
        self.foreign_params = 0
        self.body_is_read = True
        if module is not None:
            self.scopes[0][module.name] = module

    def refuse_parameters(self, arguments: ast.arguments) -> None:
        """Report the kinds of parameters that Python has and the language has not."""
        default = next((each for each in [*arguments.defaults, *arguments.kw_defaults] if each is not None), None)
        refused = [
            (arguments.vararg, "`*args`"),
            (arguments.kwarg, "`**kwargs`"),
            (arguments.kwonlyargs[0] if arguments.kwonlyargs else None, "a keyword-only parameter"),
            (default, "a default value"),
            (arguments.posonlyargs[-1] if arguments.posonlyargs else None, "`/`, behind parameters without names,"),
        ]
        hint = "every argument is given at the call, by place or name"
        for found, what in refused:
            if found is not None:
                self.report("T040", f"{what} is not part of the language", found, hint=hint)
        for param in filter(None, (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs)):
            self.scopes[-1][param.arg] = Poison()

    def signature(self) -> None:
        """Read the parameters and the return annotation; mistakes are reported."""
        node = self.node
        for item in getattr(node, "type_params", ()):
            self.symbol(item.name, self._bound(item))
        arguments = node.args
        self.refuse_parameters(arguments)
        given = [*arguments.posonlyargs, *arguments.args]
        if self.theirs:
            self._their_symbols(given)
        # scalars first: a dimension may be named after any of them
        made: dict[str, Any] = {}
        kinds: dict[str, Any] = {}
        # TVM prints `A: T.Buffer(("n", n), ...)` before `n: T.int64`
        first = [param for param in given if self.theirs and isinstance(param.annotation, ast.Attribute)]
        for param in dict.fromkeys([*first, *given]):
            kind = kinds[param.arg] = self._annotation(param)
            if isinstance(kind, TypeName):
                made[param.arg] = Var(param.arg, kind.dtype, span=self.span(param))
                if self.theirs and kind.dtype.is_int:
                    self.symbols[param.arg] = made[param.arg]  # they name it, without quotes, in later annotations
            elif type(kind) is Var:  # `n: m` of TVM: the parameter is the symbolic dimension `m`
                made[param.arg] = kind
        self.symbols.update({name: var for name, var in made.items() if var.dtype.is_int})
        for param in given:
            kind = kinds[param.arg]
            if isinstance(kind, BufferType):
                try:
                    made[param.arg] = self._buffer(param, kind)
                except Abort:
                    continue
        for param in given:
            if param.arg in made:
                self.params.append(made[param.arg])
                self.scopes[0][param.arg] = made[param.arg]
                self.fixed[param.arg] = "a parameter"
            else:
                self.scopes[0][param.arg] = Poison()
        for param in given:
            if param.arg in made and self.symbols.get(param.arg, made[param.arg]) is not made[param.arg]:
                what = f"`{param.arg}` is a dimension of a buffer, but this parameter is no integer"
                self.report("T207", what, param, hint="give one of them another name")
        if not any(isinstance(kind, BufferType) for kind in kinds.values()):
            if self.other_kind("tensors", "graph_func", len(kinds) - len(made)):
                return
        if node.returns is not None:
            mistakes = len(self.diagnostics)
            self.returns = self._returns(node.returns)
            self.result_is_told = len(self.diagnostics) > mistakes

    def other_kind(self, takes: str, decorator: str, failed: int) -> bool:
        """Whether the parameters are those of the other kind of function, which is told once, at the decorator. So many
        of them have failed."""
        if not self.foreign_params or self.foreign_params < failed:
            return False
        self.diagnostics = [one for one in self.diagnostics if one.code != "T041"]
        self.params, self.body_is_read = [], False
        kind, letter = ("graph", "G") if decorator == "graph_func" else ("tensor", "T")
        place = self.node.decorator_list[0] if self.node.decorator_list else self.node
        message = f"`{self.node.name}` takes {takes}: it is a {kind} function"
        self.report("T022", message, place, hint=f"its decorator is `@{letter}.{decorator}`")
        return True

    def _their_symbols(self, params: list[ast.arg]) -> None:
        """TVM prints `A: T.Buffer(("n",), ...)` with `n = T.int32()` in the body, which says the dtype of both."""
        texts = [
            part.value
            for param in params
            if param.annotation is not None
            for part in ast.walk(param.annotation)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        used = {word for text in texts for word in re.findall(r"\w+", text)} - {param.arg for param in params}
        for stmt in self.node.body:
            for target, value in _single_assignments(stmt):
                match target, value:
                    case ast.Name(id=name), ast.Call(func=ast.Attribute(attr=kind), args=[], keywords=[]) if (
                        name in used
                    ):
                        found = vars(self.namespace).get(kind)
                        if isinstance(found, TypeName) and found.dtype.is_int:
                            self.symbol(name, found.dtype)
                            self.of_signature.add(name)

    def _bound(self, item: Any) -> DType | None:
        bound = getattr(item, "bound", None)
        if bound is None:
            return None
        kind = self.value(bound)
        return kind.dtype if isinstance(kind, TypeName) else None

    def _annotation(self, param: ast.arg) -> Any:
        if param.annotation is None:
            hint = advise_type(param.arg, 'T.Buffer((128,), "float32")', ", or a dtype such as `T.int64`")
            self.report("T041", f"the parameter `{param.arg}` has no type", param, hint=hint)
            return None
        try:
            node: ast.expr = param.annotation
            inner = self.unquoted(node, f"the annotation of `{param.arg}`")
            if inner is not node:
                node = inner
                self._numpy_like(param, inner)
            self.in_signature, self.annotation_name = True, first_name(node)
            if isinstance(node, ast.Subscript):
                self.value(node.value)  # which is the name of a type, and of no dimension
                self.symbol_mode = True
            kind = self.value(node)
        except Abort:
            return None
        finally:
            self.symbol_mode = self.in_signature = False
        if isinstance(kind, BufferForm):
            self.report("T041", "`T.Buffer` needs a shape", param.annotation, hint='T.Buffer((128, 128), "float32")')
            return None
        if type(kind) is WrongBufferType:
            self.report("T041", f"the type of `{param.arg}` is none: {kind.problem}", param.annotation)
            return None
        kind = _python_type(kind) or kind
        if not isinstance(kind, (TypeName, BufferType)) and not (self.theirs and type(kind) is Var):
            from .graph_names import TypeForm, TypeSpec

            self.foreign_params += isinstance(kind, (GraphType, TypeForm, TypeSpec))
            self.report(
                "T041",
                f"the annotation of `{param.arg}` is not a type of T",
                param.annotation,
                hint='such as `T.Buffer((128,), "float32")`, `T.handle` or `T.int64`',
            )
            return None
        return kind

    def _numpy_like(self, param: ast.arg, node: ast.expr) -> None:
        """Refuse `"float32[4, 4]"`, whose name would be taken for that of a dimension."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in scalar_names():
            shape = ast.unparse(node.slice).strip("()")
            hint = f'`T.Buffer(({shape}{"" if "," in shape else ","}), "{node.value.id}")`'
            message = f"the annotation of `{param.arg}` is not a type of T"
            raise self.fail("T041", message, param.annotation or param, hint=hint)

    def _buffer(self, param: ast.arg, kind: BufferType) -> Buffer:
        assert param.annotation is not None
        return self.buffer_of(
            param.arg,
            kind.shape,
            kind.dtype,
            param.annotation,
            param,
            strides=kind.strides,
            elem_offset=kind.elem_offset,
            scope=kind.scope,
            align=0 if self.older and kind.align == DEFAULT_ALIGN else kind.align,
            offset_factor=kind.offset_factor,
            axis_separators=kind.axis_separators,
            layout=kind.layout,
            allocated_addr=kind.allocated_addr,
        )

    def _returns(self, node: ast.expr) -> DType | None:
        try:
            kind = self.value(self.unquoted(node, "the annotation of the result"))
        except Abort:
            return None
        if kind is None:
            return None
        kind = _python_type(kind) or kind
        if not isinstance(kind, TypeName):
            hint = "make the result a parameter, and write its elements" if isinstance(kind, BufferType) else None
            self.report("T041", "a tensor function returns a scalar, as in `-> T.int32`, or nothing", node, hint=hint)
            return None
        return None if kind.dtype.kind == "void" else kind.dtype

    def lower(self, first_line: int, last_line: int) -> PrimFunc | GraphFunc | None:
        """The function, or None where mistakes were reported; its comments stand between these lines of the text."""
        node = self.node
        docstring, body, opener = self.opening(node, last_line)
        self.names = Names(node.body)
        with recursion_room():
            if body and self.body_is_read:
                self.statements(body, opener, max(last_line, node.end_lineno or 0))
        attrs = self.attrs_found
        made = PrimFunc(
            node.name,
            tuple(self.params),
            tuple(self.out),
            Attrs(attrs) if attrs else NO_ATTRS,
            self.returns,
            bool(self.options.get("private", False)),
            bool(self.options.get("check_well_formed", True)),
            bool(self.options.get("s_tir", not self.tiles)),
            docstring,
            self._header_trivia(first_line),
            tuple(self.heads.items()),
            span=self.span(node),
        )
        if self.diagnostics:
            self.diagnostics += self.sure_mistakes(made)
            return None
        return self.without_loops(made)

    def opening(self, node: ast.FunctionDef, last_line: int) -> tuple[str | None, list[ast.stmt], int]:
        """The docstring of a function, the statements behind it, and the last line before these. The comments around a
        docstring wait for the first of the statements, or stand with the head where there is none."""
        end = header_end(node)
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str(docstring))) as first, *body]:
                pass
            case body:
                return None, body, end
        opener = first.end_lineno or first.lineno
        if (comments := self.comments) is not None:
            self.lead = [*filter(None, comments.lines(end + 1, first.lineno - 1))]
            if opener in comments.beside:
                self.lead.append(comments.beside[opener])
            if not body:
                stop = comments.split_after(opener + 1, max(last_line, opener), first.col_offset)
                self.orphans += [*self.lead, *filter(None, comments.lines(opener + 1, stop - 1))]
                self.taken = max(self.taken, stop - 1)
        return docstring, body, opener

    def sure_mistakes(self, rest: PrimFunc) -> list[Diagnostic]:
        """What the verifier finds in a function without the statements that failed, where these could not mend it."""
        if not rest.check_well_formed:
            return []
        return [found for found in verify(rest) if found.code in _SURE]

    def _header_trivia(self, start: int) -> Any:
        comments = self.comments
        if comments is None:
            return None
        node = self.node
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        inside, beside = comments.head(node, first, header_end(node))
        return trivia([*comments.above(start, first - 1), *inside, *self.orphans], beside)


def _python_type(kind: Any) -> TypeName | None:
    """`int`, `float` and `bool` as annotations; in programs the first is a function of its own."""
    names = ((BUILTINS["int"], "int32"), (int, "int32"), (float, "float32"), (bool, "bool"))
    return next((TypeName(dtype(name)) for python, name in names if kind is python), None)


def first_name(node: ast.expr) -> ast.expr:
    """The name with which a type is written: `torch` of `torch.Tensor[...]`."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _single_assignments(stmt: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """The targets and values of `a = x` and of `a, b = x, y`."""
    match stmt:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            return list(zip(targets, values, strict=False))
        case ast.Assign(targets=[target], value=value):
            return [(target, value)]
    return []


def read_options(
    call: ast.expr, reader: FunctionLowering, decorator: str = "T.prim_func", allowed: tuple[str, ...] = _OPTIONS
) -> dict[str, bool]:
    """The options of a decorator, `@T.prim_func(private=True)`; `reader` reads their values and reports mistakes."""
    found: dict[str, bool] = {}
    if not isinstance(call, ast.Call):
        return found
    if call.args:
        named = next((arg.id for arg in call.args if isinstance(arg, ast.Name) and arg.id in allowed), allowed[0])
        hint = f"write `{named}=True`"
        reader.report("T032", f"`{decorator}` takes options by keyword only", call, hint=hint)
    for keyword in call.keywords:
        with contextlib.suppress(Abort):
            if keyword.arg is None:
                given = reader.python(keyword.value, "what `**` spreads", (dict,))
            else:
                given = {keyword.arg: keyword.value}
            for name, value in given.items():
                if name not in allowed:
                    near = suggest(str(name), allowed)
                    raise reader.fail(
                        "T032",
                        f"`{decorator}` has no option `{name}`",
                        keyword.value,
                        hint=f"did you mean `{near}`?" if near else f"the options are {', '.join(allowed)}",
                    )
                if keyword.arg is not None:
                    value = reader.python(keyword.value, f"`{name}`", (bool,))
                elif not isinstance(value, bool):
                    raise reader.fail("T032", f"`{name}` must be a bool known while parsing", keyword.value)
                found[name] = value
    return found
