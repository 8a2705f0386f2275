"""The printer's state, and the dialect that says which rules it follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.span import Span
from tirscript.ir.wellformed.size import refuse_too_large

from .constants import Constants
from .expr import EXPR_RULES, INDEX_RULES, OP_RULES, first_const, second_const
from .literals import literal
from .names import Names

NOTHING: Mapping[int, str] = {}


class Dialect(Struct, frozen=True, eq=False, kw_only=True):
    """How one surface of the language is spelled: rules by class or operator, and the words in which they differ."""

    name: str
    imports: Callable[[bool, bool, bool], list[str]]  # (module, tensor functions, graph functions) -> lines
    exprs: dict[type, Any]
    indices: dict[type, Any]
    ops: dict[Any, Any]
    stmts: dict[type, Any]
    first: Callable[[Const], str]
    second: Callable[[Const, Expr], str]
    literal: Callable[[Const, DType], str]  # a constant stored into a place of a dtype
    decorator: Callable[[PrimFunc, dict[str, Any]], str]
    words: dict[str, str]
    graph: Callable[[Any, Any, str, Any], None]  # prints a graph function
    graph_body: Callable[..., None]  # prints statements of one
    graph_stmts: dict[type, Any]
    # symbolic dimensions stand in strings, only those that are not int64 being declared; or all are declared first
    strings: bool = True
    prepare: Callable[[Any, PrimFunc, str], None] | None = None  # what stands at the head of a function
    rearranged: Callable[[Node], Node] | None = None  # what is written in place of a node


LONGEST = 1 << 20  # characters of an expression, or lines of a body, behind which what is printed is measured


class Printer:
    """Collects logical lines in `out`; `get` finds the name of a binder by its id."""

    __slots__ = (
        "bare",
        "called",
        "constants",
        "declared",
        "dialect",
        "env",
        "exprs",
        "first",
        "flat",
        "get",
        "graph_indent",
        "graph_uses",
        "indices",
        "let_names",
        "literal",
        "longest",
        "loops",
        "module",
        "names",
        "of_blocks",
        "ops",
        "out",
        "root",
        "second",
        "stmts",
        "width",
        "words",
    )

    def __init__(self, dialect: Dialect, root: object, width: int = 100, constants: Constants | None = None) -> None:
        self.width = width
        self.constants = constants or Constants()
        self.dialect = dialect
        self.exprs = dialect.exprs
        self.indices = dialect.indices
        self.ops = dialect.ops
        self.stmts = dialect.stmts
        self.first = dialect.first
        self.second = dialect.second
        self.literal = dialect.literal
        self.words = dialect.words
        self.module: str | None = None  # the class that functions are called through
        self.out: list[str] = []
        self.start(root)

    def new_names(self, root: object, reserved: Iterable[str]) -> Names:
        """Names for what stands outside of functions."""
        return Names(root, reserved)

    def start(self, root: object, reserved: Iterable[str] = (), declared: Mapping[int, str] = NOTHING) -> None:
        """Forget all names: a function or fragment begins. `declared` are symbols that are named outside of it."""
        self.root = root
        self.longest = LONGEST
        self.names = Names(root, reserved)
        self.names.known.update(declared)
        self.get = self.names.known.get
        self.declared = declared
        self.loops: dict[int, Any] = {}  # by the id of the loop variable: the loop
        self.of_blocks: set[int] = (
            set()
        )  # allocations that stand directly in a block, for dialects that tell these apart
        self.bare: set[int] = set()  # axes whose extent is a number of int32, by the id of the axis
        self.let_names: dict[int, list[str]] = {}  # names declared for the variables of lets, by the variable's id
        self.env: dict[int, Expr] = {}  # how many threads the first of several launches has, by the id of the variable
        self.flat: set[int] = set()  # launches written over the rest of their body, for dialects that have these
        self.graph_uses: Counter[int] = Counter()  # how often each variable of the graph occurs, by its id
        self.graph_indent = ""  # of the statement of a graph function that is being printed
        self.called: set[str] = set()  # functions called by a bare name, which no variable may have

    def measure(self) -> None:
        """Refuse to print what has more parts than any text that is read: Python made few nodes, used many times."""
        refuse_too_large(self.root)
        self.longest *= 4


def refuse(what: str, span: Span | None, hint: str | None = None) -> DiagnosticError:
    """What this surface cannot say."""
    return DiagnosticError([error("T405", what, span, hint=hint)])


def imports(module: bool, functions: bool, graphs: bool) -> list[str]:
    """The import lines of a file: only the names it uses."""
    used = (("ir as I", module), ("tir as T", functions), ("graph as G", graphs))
    names = [name for name, is_used in used if is_used]
    return [f"from tirscript.script import {', '.join(names)}"] if names else []


def decorator(func: PrimFunc, options: dict[str, Any]) -> str:
    """`@T.prim_func`, with the options that differ from the defaults."""
    given = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"@T.prim_func({given})" if given else "@T.prim_func"


def tirscript_dialect() -> Dialect:
    """The language of docs/language.md."""
    from . import graph
    from .blocks import BLOCK_RULES
    from .constants import CONSTANT_RULES
    from .graph_values import GRAPH_VALUE_RULES
    from .launch import LAUNCH_RULES
    from .stmt import STMT_RULES
    from .value import VALUE_RULES

    return Dialect(
        name="tirscript",
        imports=imports,
        exprs={**EXPR_RULES, **VALUE_RULES, **GRAPH_VALUE_RULES},
        indices={**INDEX_RULES, **VALUE_RULES},
        ops=OP_RULES,
        stmts={**STMT_RULES, **BLOCK_RULES, **LAUNCH_RULES, **CONSTANT_RULES},
        first=first_const,
        second=second_const,
        literal=literal,
        decorator=decorator,
        words={
            "block": "T.block",
            "block_attr": "T.block_attr",
            "alloc_buffer": "T.alloc_buffer",
            "remap": "SRCO",
            "pointer": "",
            "graph": "G",
        },
        graph=graph.graph_function,
        graph_body=graph.body,
        graph_stmts=graph.GRAPH_STMT_RULES,
    )
