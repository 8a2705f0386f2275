"""Write script/tir.pyi, ir.pyi and graph.pyi: what type checkers know of `T`, `I` and `G`, from the parser's tables.

And passes/schedule/schedule.pyi: what they know of `Schedule`, from the table of its primitives.

With --check only compare. Type checkers never look into kernels: see script/typing_extensions.pyi for how.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tirscript.ir.graph_op import REQUIRED
from tirscript.ir.graph_ops import GRAPH_OPS, GraphOp
from tirscript.ir.op import Op
from tirscript.passes.schedule import PRIMITIVES, Schedule, schedule
from tirscript.script import graph, ir, tir
from tirscript.script.graph_names import GraphForm, TypeForm
from tirscript.script.namespace import BufferForm, Form, Namespace, TypeName, Unsupported
from tirscript.script.tvm import DialectFunction

FOLDER = Path(__file__).resolve().parent.parent
MANY = 16  # an operator of more arguments takes any number

_BUFFER = (
    "strides: Any = None, elem_offset: Any = None, scope: str = 'global', align: int = 0, offset_factor: int = 0, "
    "axis_separators: Any = ()"
)
_MEMORY = f"shape: Any, dtype: Any = 'float32', data: Any = None, {_BUFFER}"
_LOOP = "(start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None)"
# the constructs: what they take, and what they are
SIGNATURES = {
    "serial": f"{_LOOP} -> Iterator[Var]",
    "parallel": f"{_LOOP} -> Iterator[Var]",
    "vectorized": f"{_LOOP} -> Iterator[Var]",
    "unroll": f"{_LOOP} -> Iterator[Var]",
    "thread_binding": (
        "(start: Any, stop: Any = None, thread: str | None = None, *, annotations: dict[str, Any] | None = None)"
        " -> Iterator[Var]"
    ),
    "grid": "(*extents: Any) -> Iterator[tuple[Var, ...]]",
    "evaluate": "(value: Any, /) -> None",
    "static_assert": "(condition: Any, message: str = '', /) -> None",
    "assume": "(condition: Any, /) -> None",
    "func_attr": "(attributes: dict[str, Any], /) -> None",
    "block_attr": "(attributes: dict[str, Any] | str, value: Any = None, /) -> None",
    "reads": "(*regions: Any) -> None",
    "writes": "(*regions: Any) -> None",
    "where": "(condition: Any, /) -> None",
    "alloc_buffer": f"({_MEMORY}, annotations: dict[str, Any] | None = None) -> Any",
    "decl_buffer": f"({_MEMORY}) -> Any",
    "match_buffer": f"(source: Any, {_MEMORY}) -> Any",
    "launch_thread": "(thread: Any, extent: Any) -> AbstractContextManager[Var]",
    "env_thread": "(thread: str, dtype: Any = None) -> Any",
    "meta_var": "(value: Any, /) -> Any",
    "block": "(name: str = '', /) -> AbstractContextManager[None]",
    "init": "() -> AbstractContextManager[None]",
    "attr": "(node: Any, key: str, value: Any) -> AbstractContextManager[None]",
    "ramp": "(base: Any, stride: Any, lanes: Any) -> Expr",
    "broadcast": "(value: Any, lanes: Any) -> Expr",
    "Let": "(expr: Any, where: dict[Var, Any]) -> Expr",
    "min_value": "(dtype: Any) -> Expr",
    "max_value": "(dtype: Any) -> Expr",
    "infinity": "(dtype: Any) -> Expr",
    "comm_reducer": "(combiner: Callable[..., Any], identity: Any) -> CommReducer",
    "Reduce": (
        "(combiner: CommReducer, source: Any, axes: Any = (), condition: Any = True, value_index: int = 0, "
        "init: Any = ()) -> Expr"
    ),
    "Shuffle": "(vectors: Any, indices: Any) -> Expr",
    "var": "(dtype: Any) -> Var",
    "index_map": (
        "(mapping: Callable[..., Any], inverse_index_map: Any = None, index_dtype: Any = 'int64') -> IndexMap"
    ),
    "target": "(*args: Any, **kwargs: Any) -> Target",
    "alloc_scalar": "(dtype: Any = 'float32', scope: str = 'local') -> Any",
    "local_scalar": "(dtype: Any = 'float32') -> Any",
    "shared_scalar": "(dtype: Any = 'float32') -> Any",
    "decl_scalar": "(dtype: Any, data: Any, scope: str = 'global', elem_offset: Any = 0) -> Any",
    "iter_var": "(v: Any, dom: Any, iter_type: str = '', thread_tag: str = '') -> Any",
    "Range": "(begin: Any, end: Any) -> Any",
    "allocate_const": (
        "(data: Any, dtype: Any, shape: Any, annotations: Any = None, scope: str = 'global', align: int = 0) -> Any"
    ),
    "constant": (
        "(digest: str, shape: Any, dtype: Any, *, base64: str = '', file: str = '', annotations: Any = None, "
        "scope: str = 'global', align: int = 0) -> Any"
    ),
    "allocate": "(extents: Any, dtype: Any, scope: str = 'global', *args: Any, **kwargs: Any) -> Any",
    "alloc_local": "(shape: Any, dtype: Any = 'float32', *args: Any, **kwargs: Any) -> Any",
    "alloc_shared": "(shape: Any, dtype: Any = 'float32', *args: Any, **kwargs: Any) -> Any",
    "break_loop": "() -> Any",
    "continue_loop": "() -> Any",
    "ret": "(value: Any = None, /) -> Any",
    "axis.spatial": "(dom: Any, value: Any) -> Var",
    "axis.reduce": "(dom: Any, value: Any) -> Var",
    "axis.scan": "(dom: Any, value: Any) -> Var",
    "axis.opaque": "(dom: Any, value: Any) -> Var",
    "axis.remap": "(kinds: str, bindings: Any) -> Any",
    "module_attrs": "(attributes: dict[str, Any], /) -> None",
    "module_global_infos": "(infos: dict[str, Any], /) -> None",
    "vdevice": "(target: Any = None, vdevice_id: int = 0, memory_scope: str = 'global') -> Any",
    "dummy_global_info": "() -> Any",
}
# the names that are values rather than functions: they may be indexed too
VALUES = {"Buffer": "BufferForm", "let": "LetForm", "LetStmt": "LetForm"}

TIR_HEAD = '''\
"""{doc}

Written by `.ci/stubs.py` from the tables that the parser reads; `make stubs` writes it again.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from typing import no_type_check as inline  # for mypy, which finds the first definition of a name
from typing import no_type_check as macro
from typing import no_type_check as prim_func

from tirscript.ir.expr import CommReducer, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.target import Target

from .namespace import BufferForm, LetForm, TypeName
from .typing_extensions import inline, macro  # type: ignore[assignment, no-redef]
from .typing_extensions import no_type_check as prim_func  # type: ignore[assignment]
'''
IR_HEAD = '''\
"""{doc}

Written by `.ci/stubs.py` from the tables that the parser reads; `make stubs` writes it again.
"""

from collections.abc import Callable
from typing import Any, overload

from tirscript.ir.module import Module

from .graph_names import TypeForm

@overload
def ir_module(cls: type) -> Module:
    {module}

@overload
def ir_module(*, check_well_formed: bool = True, s_tir: bool = True) -> Callable[[type], Module]:
    {module}
'''


def quoted(text: str) -> str:
    """A docstring."""
    lines = inspect.cleandoc(text).replace("\\", "\\\\").split("\n")
    return '"""' + "\n    ".join(lines).rstrip() + ("\n    " if len(lines) > 1 else "") + '"""'


def operator_signature(entry: Op) -> str:
    """What an operator takes, from its entry."""
    low, high = entry.arity
    own = entry.make is not None and "kwargs" not in inspect.signature(entry.make).parameters
    if own:
        parameters = []
        for name, parameter in inspect.signature(entry.make).parameters.items():  # type: ignore[arg-type]
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
            parameters.append(f"{star}{name}: Any")
        return f"({', '.join(parameters)}) -> Expr"
    if entry.make is None and entry.parameters:
        return f"({', '.join(f'{name}: Any' for name in entry.parameters)}) -> Expr"
    names = ["x"] if high == 1 else [*"abcdefghijklmnop"][: high if high <= MANY else low]
    parameters = [f"{name}: Any" + (" = ..." if at >= low else "") for at, name in enumerate(names)]
    if entry.dtype_arg == "first":
        parameters.insert(0, "dtype: Any")
    if high > MANY:
        parameters.append("*args: Any")
    elif parameters:
        parameters.append("/")
    return f"({', '.join(parameters)}) -> Expr"


def member(name: str, value: Any, indent: str = "") -> str:
    """The lines that declare one member of a namespace."""
    if isinstance(value, TypeName):
        return f"{name}: TypeName\n{quoted(value.__doc__ or '')}\n"
    if name in VALUES or isinstance(value, BufferForm):
        return f"{name}: {VALUES[name]}\n{quoted(value.__doc__ or '')}\n"
    if isinstance(value, Op):
        signature, doc = operator_signature(value), f"{value.doc}"
    elif isinstance(value, DialectFunction):
        parameters = [f"{parameter}: Any" for parameter in inspect.signature(value.function).parameters]
        signature, doc = f"({', '.join(parameters)}) -> Expr", value.__doc__ or ""
    elif isinstance(value, Form):
        signature, doc = SIGNATURES[value.name], value.__doc__ or ""
    else:
        raise AssertionError(f"no rule for {name}: {value!r}")
    if not indent:
        return f"def {name}{signature}:\n    {quoted(doc)}\n"
    signature = signature.replace("(", "(self, ", 1).replace("(self, )", "(self)")
    body = quoted(doc).replace("\n", f"\n{indent}")
    return f"{indent}def {name}{signature}:\n{indent}    {body}\n"


def group(name: str, value: Namespace) -> str:
    """A namespace in a namespace: a class of its members, and the one object of it."""
    title = f"_{name.title().replace('_', '')}"
    members = [member(each, held, "    ") for each, held in public(value)]
    return f"class {title}:\n    {quoted(value.__doc__ or '')}\n\n{''.join(members)}\n{name}: {title}\n"


def public(namespace: Namespace) -> Iterator[tuple[str, Any]]:
    """The members of a namespace by name."""
    for name, value in sorted(vars(namespace).items()):
        if not name.startswith("_") and not isinstance(value, Unsupported):
            yield name, value


def tir_stub() -> str:
    """The text of tir.pyi."""
    parts = [TIR_HEAD.format(doc=tir.__doc__)]
    names = [name for name, _ in public(tir)]
    parts.append(f"__all__ = {json.dumps(names)}\n")
    for name, value in public(tir):
        if name in ("prim_func", "macro", "inline"):
            continue
        parts.append(group(name, value) if isinstance(value, Namespace) else member(name, value))
    return "\n".join(parts)


def ir_stub() -> str:
    """The text of ir.pyi."""
    head = IR_HEAD.format(doc=ir.__doc__, module=quoted(ir.ir_module.__doc__))
    names = [name for name, _ in public(ir) if name not in ("ir_module", "StringType")]
    text = "\n".join(member(name, getattr(ir, name)) for name in names)
    return f'{head}\n{text}\nStringType: TypeForm\n"""the type of a string"""\n'


GRAPH_HEAD = '''\
"""{doc}

Written by `.ci/stubs.py` from the tables that the parser reads; `make stubs` writes it again.
"""

from typing import Any as _Any
from typing import no_type_check as graph_func  # for mypy, which finds the first definition of a name
from typing import no_type_check as macro

from tirscript.ir.graph import OpCall

from .graph_names import EntryForm, GraphForm, TypeForm
from .typing_extensions import macro  # type: ignore[assignment, no-redef]
from .typing_extensions import no_type_check as graph_func  # type: ignore[assignment]

function = graph_func
func = graph_func
'''


def graph_stub() -> str:
    """The text of graph.pyi."""
    parts = [GRAPH_HEAD.format(doc=graph.__doc__)]
    forms = [name for name, value in vars(graph).items() if isinstance(value, (GraphForm, TypeForm))]
    exported = {*forms, *(name.partition(".")[0] for name in GRAPH_OPS), "graph_func", "function", "func", "macro"}
    parts.append(f"__all__ = {json.dumps(sorted(exported))}\n")
    for name, value in sorted(vars(graph).items()):
        if isinstance(value, (GraphForm, TypeForm)):
            parts.append(f"{name}: {type(value).__name__}\n{quoted(value.__doc__ or '')}\n")
    groups: dict[str, list[str]] = {}
    for name, entry in sorted(GRAPH_OPS.items()):
        group, _, own = name.rpartition(".")
        if group:
            groups.setdefault(group, []).append(graph_operator(own, entry, "    "))
        else:
            parts.append(graph_operator(own, entry))
    for group, members in groups.items():
        title = f"_{group.title().replace('.', '')}"
        parts.append(f'class {title}:\n    """Graph operators."""\n\n{"".join(members)}\n{group}: {title}\n')
    return "\n".join(parts)


def graph_operator(name: str, entry: GraphOp, indent: str = "") -> str:
    """The lines that declare one graph operator."""
    given = ["self"] if indent else []
    left = False  # whether one before may be left away
    for one in entry.parameters:
        if one.kind == "spread":
            given.append(f"*{one.name}: _Any")
            left = False
            continue
        left = left or not _is_needed(one)
        given.append(f"{one.name}: _Any{' = ...' if left else ''}")
    body = quoted(entry.doc).replace("\n", f"\n{indent}")
    return f"{indent}def {name}({', '.join(given)}) -> OpCall:\n{indent}    {body}\n"


def _is_needed(one: Any) -> bool:
    return one.default is REQUIRED and one.name != "out"  # results are found out where they are left away


SCHEDULE_HEAD = '''\
"""{doc}

Written by `.ci/stubs.py` from the table of primitives; `make stubs` writes it again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tirscript.ir.expr import Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.module import Module

from .primitive import BlockHandle, LoopHandle
from .refusal import ScheduleError
from .trace import Mark, Trace

__all__ = ["Schedule", "ScheduleError"]

'''
# what a primitive takes and gives, in the words of a user
HANDLES = {
    "BlockAt": "BlockHandle | str",
    "StorageScope": "str",
    "LoopAt": "LoopHandle | str",
    "ScopeAt": "BlockHandle | str",
    "PadValue": "int | float | bool | Expr | IndexMap | Callable[..., Any] | None",
}
# what the primitives that give handles give
RESULTS = {
    "split": "list[LoopHandle]",
    "fuse": "LoopHandle",
    "merge": "LoopHandle",
    "loop_partition": "list[LoopHandle]",
    "tile": "list[LoopHandle]",
    "vectorize_inner": "LoopHandle",
    "add_unit_loop": "LoopHandle",
    "privatize": "LoopHandle",
    "get_loops": "list[LoopHandle]",
    "sample_compute_location": "LoopHandle | int",
}


def schedule_stub() -> str:
    """The text of schedule.pyi."""
    methods: list[str] = []
    for name, value in vars(Schedule).items():
        if name.startswith("_") and name not in ("__init__", "__str__"):
            continue
        if isinstance(value, property):
            methods.append(f"    @property\n{_method(name, value.fget)}")
        elif inspect.isfunction(value):
            methods.append(_method(name, value))
    for name, entry in sorted(PRIMITIVES.items()):
        methods.append(_method(name, entry.function, RESULTS.get(name)))
    return SCHEDULE_HEAD.format(doc=schedule.__doc__) + (
        f"class Schedule:\n    {quoted(Schedule.__doc__ or '')}\n\n" + "\n".join(methods)
    )


def _method(name: str, function: Any, result: str | None = None) -> str:
    """A method of the stub; the first parameter, the schedule or its edit, is `self`."""
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    # a list of handles is given where names may stand too
    rest = [one.replace(annotation=_Said(_words(str(one.annotation)).replace("list[", "Sequence["))) for one in rest]
    given = str(signature.return_annotation)
    gives = result or {"Place": "BlockHandle", "list[Place]": "list[BlockHandle]"}.get(given, _words(given))
    self = first.replace(name="self", annotation=inspect.Parameter.empty)
    text = str(inspect.Signature([self, *rest], return_annotation=_Said(gives)))
    body = quoted(inspect.getdoc(function) or "").replace("\n", "\n        ")
    return f"    def {name}{text}:\n        {body}\n"


class _Said:
    """An annotation that is printed as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _words(annotation: str) -> str:
    for name, words in HANDLES.items():
        annotation = re.sub(rf"\b{name}\b", words, annotation)
    return " | ".join(dict.fromkeys(annotation.split(" | "))) if "[" not in annotation else annotation


def formatted(text: str) -> str:
    """The text as ruff lays it out."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "120"]
    command += ["--stdin-filename", "stub.pyi", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=True).stdout


def main() -> int:
    """Write the stubs, or compare them with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the stubs are not up to date")
    check = parser.parse_args().check
    status = 0
    for name, made in (
        ("script/tir.pyi", tir_stub),
        ("script/ir.pyi", ir_stub),
        ("script/graph.pyi", graph_stub),
        ("passes/schedule/schedule.pyi", schedule_stub),
    ):
        path, text = FOLDER / name, formatted(made())
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{name} is not what the tables give; run `make stubs`", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
