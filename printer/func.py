"""Functions and modules as text, and the files they make."""

from __future__ import annotations

import inspect
import unicodedata
from collections.abc import Callable, Iterable
from keyword import iskeyword
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphExpr, GraphFunc, GraphType
from tirscript.ir.module import DeviceMesh, DummyInfo, Module, VDevice
from tirscript.ir.node import Attrs, Node
from tirscript.ir.rewrite import free_buffers, free_vars, walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import Axis, MatchBuffer, Stmt

from .blocks import axis_line
from .core import Printer, refuse
from .expr import top
from .launch import env_threads
from .layout import fit, text_width
from .literals import dtype_annotation, quote
from .names import Names, spelled
from .stmt import TAB, body, buffer_arguments, comment_line, comments, head, value


def file_text(p: Printer, node: PrimFunc | GraphFunc | Module, header: bool) -> None:
    """A whole file: imports, then the definition."""
    functions = node.functions if type(node) is Module else (node,)
    graphs = any(type(func) is GraphFunc for func in functions) or (type(node) is Module and bool(node.externs))
    tensors = any(type(func) is PrimFunc for func in functions)
    lines = p.dialect.imports(type(node) is Module, tensors or graphs, graphs) if header else []
    p.out += lines
    _WHOLE[type(node)](p, node)
    count = len(lines)
    if lines and graphs and not tensors:
        text = p.out[count:]
        whole = type(node) is Module or any("I.vdevice(" in line for line in text)
        lines = p.dialect.imports(whole, any("T." in line for line in text), True)
    p.out[:count] = lines


def whole_function(p: Printer, func: PrimFunc) -> None:
    """A function outside of a module, below the declarations of its symbols."""
    names = p.new_names(func, (spelled(func.name),))
    _above(p.out, _declarations(p, (func,), names, ""))
    function(p, func, "", names)


def whole_graph(p: Printer, func: GraphFunc) -> None:
    """A graph function outside of a module."""
    names = p.new_names(func, (*_namespaces(p), spelled(func.name)))
    _above(p.out, [])
    p.dialect.graph(p, func, "", names)


def _namespaces(p: Printer) -> tuple[str, str]:
    """The names that the text of a module or a graph has beside T for what is not the program's."""
    return "I", p.words["graph"]


def _declarations(p: Printer, functions: Iterable[PrimFunc], names: Names, indent: str) -> list[str]:
    """The lines that declare the symbols of functions outside of them."""
    symbols = [var for func in functions for var in declared_symbols(p, func)]
    return [f"{indent}{names.define(var, var.name)} = {dtype_annotation(var.dtype)}()" for var in symbols]


def _above(out: list[str], declarations: list[str]) -> None:
    """What stands between the imports and the definition."""
    if declarations:
        out += ["", *declarations] if out else declarations
    if out:
        out += ["", ""]


def trivia_before(out: list[str], trivia: Trivia | None, indent: str) -> None:
    """The comments above a definition."""
    if trivia is not None:
        begun = len(out)
        comments(out, trivia.before, indent, blank=False, keep_last=False)
        if begun and not indent and "" in out[begun:]:
            # what stands above the last blank line goes with the imports, which are two lines away
            out.insert(len(out) - out[::-1].index(""), "")


def trivia_after(out: list[str], trivia: Trivia | None, indent: str) -> None:
    """The comments at the end of a definition's text."""
    if trivia is not None and any(trivia.after):
        out += [""] if indent else ["", ""]
        comments(out, trivia.after, indent, blank=False, keep_last=False)


# --- functions --------------------------------------------------------------------------------------------------------


def function(p: Printer, func: PrimFunc, indent: str, outer: Names) -> None:
    """One tensor function's definition; `outer` names the symbols that are declared before it."""
    define_function(p, func, indent, outer, _function)


def define_function(
    p: Printer, func: PrimFunc | GraphFunc, indent: str, outer: Names, write: Callable[[Printer, Any, str], None]
) -> None:
    """What `write` writes of a function, once more where a variable took the name of a function that is called."""
    wrong = _no_name(func.name)
    if wrong is not None:
        raise refuse(f"the function name {func.name!r} is {wrong}", func.span, "rename the function")
    begun = len(p.out)
    p.start(func, outer.taken, outer.known)
    write(p, func, indent)
    if p.called and not (p.called - outer.taken).isdisjoint(p.names.known.values()):
        # leave such names to the functions
        reserved = outer.taken | p.called
        del p.out[begun:]
        p.start(func, reserved, outer.known)
        write(p, func, indent)


def _no_name(name: str) -> str | None:
    """What a name is that no definition can have; None where one can."""
    if not name.isidentifier():
        return "no identifier"
    if iskeyword(name) or name == "__debug__":
        return "a word of Python's own"
    read = unicodedata.normalize("NFKC", name)
    return None if read == name else f"{read!r} to Python"


def _function(p: Printer, func: PrimFunc, indent: str) -> None:
    out, names = p.out, p.names
    trivia_before(out, func.trivia, indent)
    options: dict[str, Any] = {}
    if func.private:
        options["private"] = True
    if not func.check_well_formed:
        options["check_well_formed"] = False
    if not func.s_tir:
        options["s_tir"] = False
    start = len(out)
    out.append(indent + p.dialect.decorator(func, options))
    for param in func.params:
        names.define(param, param.name)
    params = [f"{names.known[id(param)]}: {annotation(p, param)}" for param in func.params]
    result = "" if func.returns is None else f" -> {dtype_annotation(func.returns)}"
    lines = signature(f"{indent}def {func.name}(", params, f"){result}:", indent, p.width)
    out += lines
    comment_beside(p, func, start, lines, indent)
    inner = indent + TAB
    headed = docstring(out, func.docstring, inner)
    if func.attrs:
        text = f"{inner}T.func_attr({value(p, func.attrs)})"
        head(p, text, inner, dict(func.heads).get("func_attr"), len(out) - headed)
        headed = True
    headed = env_threads(p, func, inner) or headed
    if not func.check_well_formed:
        headed = _undefined(p, func, inner) or headed
    headed = _used_above(p, func, inner) or headed
    if p.dialect.prepare is not None:
        p.dialect.prepare(p, func, inner)
    if func.body or not headed:
        body(p, func.body, inner, headed)
    trivia_after(out, func.trivia, indent)


def _undefined(p: Printer, func: PrimFunc, indent: str) -> bool:
    """Declare the variables that nothing defines, which a function may have that is not checked; whether there are."""
    given = {id(var) for var in func.symbols}
    found = [var for var in free_vars(func) if id(var) not in given and id(var) not in p.names.known]
    for var in found:
        kind = "T.handle()" if var.dtype.is_handle and var.dtype.pointee is None else dtype_annotation(var.dtype)
        name = p.names.define(var, var.name)
        p.out.append(f"{indent}{name} = {kind}{'' if kind.endswith(')') else '()'}")
    return bool(found)


def _used_above(p: Printer, func: PrimFunc, indent: str) -> bool:
    """Declare the symbols that are used above the match_buffer whose shape they stand in; whether there are."""
    waiting = {id(var): var for var in func.symbols if id(var) not in p.names.known}
    start = len(p.out)
    for stmt in func.body:
        if not waiting:
            break
        matches = type(stmt) is MatchBuffer
        for node in walk(stmt):
            var = waiting.pop(id(node), None)
            if var is not None and not matches:
                p.out.append(f"{indent}{p.names.define(var, var.name)} = {dtype_annotation(var.dtype)}()")
    return len(p.out) > start


def signature(head: str, params: list[str], tail: str, indent: str, width: int) -> list[str]:
    """The lines of a definition's head: one, or the parameters on lines of their own."""
    together = ", ".join(params)
    line = f"{head}{together}{tail}"
    if len(line) <= width and (line.isascii() or text_width(line) <= width):
        return [line]
    if len(params) > 1 and line.isascii() and len(head) <= width and len(indent) + len(tail) <= width:
        inner = indent + TAB
        if len(inner) + len(together) <= width:
            return [head, inner + together, indent + tail]
        lines = [f"{inner}{param}," for param in params]
        if max(map(len, lines)) <= width:
            return [head, *lines, indent + tail]
    return [fit(line, width)]  # laid out: one piece, which nothing fits again


def declared_symbols(p: Printer, func: PrimFunc) -> list[Var]:
    """The symbols of the parameters' annotations that a string cannot stand for."""
    strings = p.dialect.strings
    found: dict[int, Var] = {}
    given = {id(param) for param in func.params}
    for param in func.params:
        if type(param) is Buffer and not _constant(param):
            for node in walk(param):
                if type(node) is Var and id(node) not in given and not (strings and node.dtype is INT64):
                    found.setdefault(id(node), node)
    return list(found.values())


def _constant(buffer: Buffer) -> bool:
    return buffer.strides is None and buffer.elem_offset is None and all(type(dim) is Const for dim in buffer.shape)


def annotation(p: Printer, param: Var | Buffer) -> str:
    """The type of a parameter: `T.Buffer((n,), "float32")`, `T.int64`, `T.handle`."""
    if type(param) is Var:
        return dtype_annotation(param.dtype)
    assert type(param) is Buffer
    # a string among the strides is a new variable to TVM, whatever has its name, and no offset
    part = _dimension if p.dialect.strings else _size
    return f"T.Buffer({buffer_arguments(p, param, _dimension, part=part)})"


def _dimension(p: Printer, dim: Expr) -> str:
    """A dimension of a parameter. One over symbols or other parameters is a string, since these names are not defined
    there, except symbols that are declared before the function."""
    text = _size(p, dim)
    quoted = any(type(node) is Var and id(node) not in p.declared for node in walk(dim))
    return quote(text) if quoted else text


def _size(p: Printer, dim: Expr) -> str:
    """A dimension, stride or offset of a parameter, whose symbols get their names here."""
    for node in walk(dim):
        if type(node) is Var and id(node) not in p.declared and id(node) not in p.names.known:
            p.names.fix(node, node.name)
    return top(p, dim)


def comment_beside(p: Printer, func: PrimFunc | GraphFunc, start: int, lines: list[str], indent: str) -> None:
    """The comment beside the signature, the last `lines` of the output; before what begins at `start` where it does not
    fit there."""
    if func.trivia is None or not func.trivia.beside:
        return
    comment = comment_line(func.trivia.beside)
    if len(lines) > 1 or "\n" in lines[0] or text_width(lines[0]) + 2 + text_width(comment) > p.width:
        p.out.insert(start, indent + comment)
    else:
        p.out[-1] += f"  {comment}"


def docstring_lines(text: str | None) -> list[str]:
    """The lines of a docstring without what depends on where it stands."""
    lines = [line.rstrip() for line in inspect.cleandoc(text or "").split("\n")]
    return "\n".join(lines).strip("\n").split("\n") if any(lines) else []


def docstring(out: list[str], text: str | None, indent: str) -> bool:
    """A docstring as ruff formats one; whether there was one."""
    lines = docstring_lines(text)
    if not lines:
        return False
    rest = [line for line in lines[1:] if line]
    if lines[0][0].isspace() or (rest and all(line[0].isspace() for line in rest)):
        lines.insert(0, "")  # a line beside the quotes has no indentation, and tells nothing of that of the others
    escaped = [_docstring_line(line) for line in lines]
    made = f"\n{indent}".join(escaped)
    made = "\n".join(line.rstrip() for line in made.split("\n"))
    if len(lines) > 1:
        made += f"\n{indent}"
    elif made.endswith('"') and not made.endswith(_QUOTES):
        made += " "
    out.append(f'{indent}"""{made}"""')
    return True


_QUOTES = '\\"\\"\\"'  # three quotes in a docstring


def _docstring_line(line: str) -> str:
    line = line.replace("\\", "\\\\").replace('"""', _QUOTES)
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)


# --- modules ----------------------------------------------------------------------------------------------------------


def module(p: Printer, node: Module) -> None:
    """`@I.ir_module class Name:`"""
    out = p.out
    name = spelled(node.name)
    if name in _namespaces(p):
        name = f"{name}_1"
    functions = {one.name for one in (*node.functions, *node.externs)}
    names = p.new_names(node, (name, *_namespaces(p), *functions))
    inside = p.dialect.strings
    declarations = _declarations(p, node.prim_funcs, names, TAB if inside else "")
    names.taken.difference_update({*_namespaces(p)} - functions)  # in a tensor function they mean nothing
    # TVM takes a symbol of a graph for one of the same name that is declared outside, and refuses another dtype
    apart = () if inside else {line.split()[0] for line in declarations if not line.endswith("int64()")}
    _above(out, [] if inside else declarations)
    trivia_before(out, node.trivia, "")
    out += ["@I.ir_module", f"class {name}:"]
    if node.trivia is not None and node.trivia.beside:
        out[-1] += f"  {comment_line(node.trivia.beside)}"
    p.module = name
    begun = len(out)
    docstring(out, node.docstring, TAB)
    lines = declarations if inside else []
    if node.attrs:
        p.start(node, names.taken, names.known)
        lines.append(f"{TAB}I.module_attrs({value(p, node.attrs)})")
    if node.global_infos:
        lines.append(f"{TAB}I.module_global_infos({_infos(p, node.global_infos)})")
    if node.externs:
        p.start(node, names.taken, names.known)
        lines += [f"{TAB}{entry.name} = {top(p, entry.function)}" for entry in node.externs]
    if lines:
        out += ["", *lines] if len(out) > begun else lines
    for at, func in enumerate(node.functions):
        if len(out) > begun:
            out.append("")
        if isinstance(func, PrimFunc):
            function(p, func, TAB, names)
        else:
            # its symbols are its own, and functions are called through the class: their names are free
            p.dialect.graph(p, func, TAB, p.new_names(func, (name, *_namespaces(p), *apart)))
        if func.name == "T" and at + 1 < len(node.functions):
            # when Python runs the file, the name is now the function's: give it back to what decorates the next one
            out += [
                part for line in p.dialect.imports(False, True, False) if line[0] != "#" for part in ("", TAB + line)
            ]
    if len(out) == begun:
        out.append(f"{TAB}pass")
    trivia_after(out, node.trivia, "")


def _infos(p: Printer, infos: Attrs) -> str:
    """`{"vdevice": [I.vdevice("llvm", 0, "global")]}`"""
    parts = [f"{quote(name)}: [{', '.join([_info(p, one) for one in held])}]" for name, held in infos.items()]
    return f"{{{', '.join(parts)}}}"


def _info(p: Printer, info: VDevice | DummyInfo | DeviceMesh) -> str:
    """`I.vdevice("llvm", 0, "global")`"""
    if type(info) is DummyInfo:
        return "I.dummy_global_info()"
    return top(p, info)


# --- fragments --------------------------------------------------------------------------------------------------------


def fragment(p: Printer, node: Any) -> None:
    """Any node or body by itself; what it uses and does not define has its own name."""
    if isinstance(node, Stmt):
        node = (node,)
    graphs = isinstance(node, tuple) and any(type(stmt) in p.dialect.graph_stmts for stmt in node)
    if graphs or isinstance(node, (GraphExpr, GraphType)):
        p.names.taken.update(_namespaces(p))
    if isinstance(node, (Node, tuple)) and not isinstance(node, (Var, Buffer)):
        for free in (*free_buffers(node), *free_vars(node)):
            if id(free) not in p.names.known:
                p.names.fix(free, free.name)  # type: ignore[attr-defined]
    if isinstance(node, tuple):
        (p.dialect.graph_body if graphs else body)(p, node, "")
    else:
        rule = FRAGMENTS.get(type(node))
        if rule is None:
            p.out.append(top(p, node))
        else:
            rule(p, node)


def _buffer_fragment(p: Printer, node: Buffer) -> None:
    for part in walk(node):
        if type(part) is Var and id(part) not in p.names.known:
            p.names.fix(part, part.name)
    kind = dtype_annotation(node.dtype) if node.is_scalar else f"T.Buffer({buffer_arguments(p, node, top)})"
    p.out.append(f"{p.names.fix(node, node.name)}: {kind}")


def _axis_fragment(p: Printer, node: Axis) -> None:
    p.out.append(axis_line(p, node, ""))


_WHOLE: dict[type, Any] = {PrimFunc: whole_function, GraphFunc: whole_graph, Module: module}
FRAGMENTS: dict[type, Any] = {
    Buffer: _buffer_fragment,
    Axis: _axis_fragment,
    VDevice: lambda p, node: p.out.append(_info(p, node)),
    DeviceMesh: lambda p, node: p.out.append(_info(p, node)),
    DummyInfo: lambda p, node: p.out.append(_info(p, node)),
    **_WHOLE,
}
