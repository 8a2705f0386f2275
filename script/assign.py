"""Assignments: bindings, mutable scalars, elements of buffers."""

from __future__ import annotations

import ast
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, Label
from tirscript.ir.dtype import FLOAT32, scalar_names
from tirscript.ir.effects import has_effect, reads_memory
from tirscript.ir.expr import BufferData, BufferLoad, Expr, Var, access_dtype
from tirscript.ir.node import recursion_room
from tirscript.ir.op import as_expr, convert
from tirscript.ir.rewrite import distinct
from tirscript.ir.stmt import Bind, BufferStore, ScalarDecl
from tirscript.ir.words import counted

from .advice import element_of, matched
from .call import _plain_type
from .constant import ConstantLowering
from .context import FIRST, Abort, Pending, Poison, ScalarView, Stale, is_single
from .expr import _BINARY_OPS, Method
from .item_nodes import index_nodes
from .meet import fit
from .namespace import BufferType, Form, LetType, TypeName
from .plain import argument_place, inside
from .scope import Names


class AssignLowering(ConstantLowering):
    """Lowers assignments."""

    names: Names
    of_signature: set[str]  # symbols of the signature that TVM's text declares in the body

    def _assign(self, node: ast.Assign) -> None:
        first, *others = node.targets
        for target in others:
            if isinstance(target, (ast.Tuple, ast.List)) or isinstance(first, (ast.Tuple, ast.List)):
                raise self.fail("T012", "a chain of assignments has single targets", target)
        if others and isinstance(first, ast.Subscript):  # what it stores may be what the others' indices read
            value = self.settled(self.value(node.value), "value", node)
            for target in node.targets:
                self._assign_item(target, value, node.value, node)
            return
        self.assign(first, node.value, node)
        for target in others:
            self.assign(target, first, node)

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        """`target = value`."""
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, ast.Call) and self.is_meta_var(value):
                self.unpack(target, self.meta_value(value))
            elif not self.define_axes(target, value, node):
                self._assign_several(target, value, node)
        elif isinstance(target, ast.Name):
            if not (isinstance(value, ast.Call) and self.define_construct(target, value, node)):
                self.assign_name(target, self.open_value(value), value, node)
        elif isinstance(target, ast.Subscript):
            self.store(target, value, node)
        elif isinstance(target, ast.Attribute):
            raise self.fail("T012", "an attribute cannot be assigned", target)
        else:
            raise self.fail("T012", "this cannot be assigned", target)

    def assign_name(self, target: ast.Name, value: Any, node_value: ast.expr, node: ast.stmt) -> None:
        """`name = value`: a binding, the declaration of a mutable scalar, or an assignment to one."""
        name = target.id
        stale = self.lookup(name)
        if type(stale) is Stale and type(stale.value) is not Pending:
            self.define(name, stale.value)
        single = self.element_named(name)
        if single is not None:
            self.store_value(single, FIRST, value, node_value, node)
            return
        self.check_assignable(name, target)
        place = self.lookup_scalar(name)
        if place is not None:
            self.store_value(place, (), value, node_value, node)
            return
        value = self.closed(value)
        if type(value) is TypeName and value.dtype.is_handle and isinstance(node_value, ast.Call):
            value = Var("", value.dtype)  # `p = T.handle("float32")`, as `n = T.int64()`
        if not isinstance(value, (Expr, int, float, bool)):
            if isinstance(value, Buffer) or not isinstance(value, (TypeName, Form)):
                # parse-time Python: a list, a string, a buffer under another name
                self.keep(name, self.settled(value, name, node))
                return
            word = "a dtype" if isinstance(value, TypeName) else "a construct"
            hint = f"declare the variable: `{name}: T.{value.name}`" if isinstance(value, TypeName) else value.__doc__
            raise self.fail("T104", f"`T.{value.name}` is {word}, not a value", node_value, hint=hint)
        if type(value) is Var and not value.name and self.theirs and name in self.of_signature:
            self.define(name, self.symbols[name])
            return
        if type(value) is Var and not value.name:
            self.define(name, Var(name, value.dtype, span=self.span(target)))
            self.symbols.setdefault(name, self.scopes[-1][name])
            return
        pending = self.lookup(name)
        expr = as_expr(value)
        if type(pending) is Pending or id(target) in self.names.mutable:
            buffer = Buffer(name, (), expr.dtype, scope="scalar", span=self.span(target))
            if type(pending) is Pending:
                self.scope_of(name)[name] = buffer
                self.emit(BufferStore(buffer, (), expr, span=self.span(node)))
            else:
                self.define(name, buffer)
                self.emit(ScalarDecl(buffer, expr, span=self.span(node)))
            return
        var = Var(name, expr.dtype, span=self.span(target))
        self.keep(name, var)
        self.emit(Bind(var, expr, span=self.span(node)))

    def check_assignable(self, name: str, target: ast.expr) -> None:
        """Refuse loop variables, parameters and other names that stay what they are."""
        what = self.fixed.get(name)
        found = self.lookup(name) if any(name in scope for scope in self.scopes) else None
        if what is not None and not isinstance(found, Buffer):
            hint = "copy it to another name, which may change" if what == "a parameter" else "use another name"
            raise self.fail("T012", f"`{name}` is {what} and cannot be assigned", target, hint=hint)
        if isinstance(found, Buffer) and not found.is_scalar:
            notes = (Label(found.span, f"`{name}` is declared here"),) if found.span else ()
            raise self.fail(
                "T012",
                f"`{name}` is {what or 'a buffer'} and cannot be assigned as a whole",
                target,
                hint=f"assign its elements in a loop, `{element_of(found)} = value`, or use another name",
                notes=notes,
            )

    def lookup_scalar(self, name: str) -> Buffer | None:
        """The mutable scalar of that name that is in scope."""
        for scope in reversed(self.scopes):
            if name in scope:
                found = scope[name]
                return found if isinstance(found, Buffer) and found.is_scalar else None
        return None

    def element_named(self, name: str) -> Buffer | None:
        """The buffer whose one element a name is: a scalar that was declared so, in TVM's text any of one element."""
        found = self.lookup(name)
        if type(found) is ScalarView:
            return found.buffer
        return found if self.theirs and is_single(found) else None

    def scope_of(self, name: str) -> dict[str, Any]:
        """The scope that holds a name."""
        return next(scope for scope in reversed(self.scopes) if name in scope)

    def _assign_several(self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.stmt) -> None:
        if isinstance(value, (ast.Tuple, ast.List)) and not any(isinstance(item, ast.Starred) for item in value.elts):
            parts = [(self.value(item), item) for item in value.elts]
        else:
            parts = self._parts(self.value(value), value, target)
        found = self._taken(target, parts, node)
        if self._stores([item for item, _, _ in found]):
            # the right side is evaluated first: later values may read what earlier targets overwrite
            for at, (item, given, source) in enumerate(found):
                if at or not isinstance(given, Expr) or has_effect(given):
                    hint = item.id if isinstance(item, ast.Name) else "value"
                    found[at] = item, self.settled(given, hint, node, theirs=True), source
        for item, given, source in found:
            self._assign_item(item, given, source, node)

    def _parts(self, value: Any, source: ast.expr, target: ast.Tuple | ast.List) -> list[tuple[Any, ast.expr]]:
        """The values in one that several targets take, with the syntax node that they are of."""
        if isinstance(value, (Expr, int, float)):
            raise self.fail("T033", f"one value for {counted(len(target.elts), 'target')}", source)
        return [(item, source) for item in self.iterate(value, source)]

    def _taken(
        self, target: ast.Tuple | ast.List, parts: list[tuple[Any, ast.expr]], node: ast.stmt
    ) -> list[tuple[ast.expr, Any, ast.expr]]:
        """What each single target takes, those in targets of several included."""
        taken: list[tuple[ast.expr, Any, ast.expr]] = []
        for item, part in self.spread(target, parts, node):
            several = isinstance(part, list)  # what a target with a star takes
            value, source = ([one for one, _ in part], target) if several else part
            if isinstance(item, (ast.Tuple, ast.List)):
                taken += self._taken(item, part if several else self._parts(value, source, item), node)
            else:
                taken.append((item, value, source))
        return taken

    def _assign_item(self, target: ast.expr, value: Any, source: ast.expr, node: ast.stmt) -> None:
        """Let one target have a value that is lowered already."""
        if isinstance(target, ast.Name):
            self.assign_name(target, value, source, node)
        elif isinstance(target, ast.Subscript):
            self.store(target, source, node, value)
        else:
            raise self.fail("T012", "this cannot be assigned", target)

    def _stores(self, targets: list[ast.expr]) -> bool:
        return any(
            isinstance(item, ast.Subscript) or (isinstance(item, ast.Name) and self.lookup_scalar(item.id) is not None)
            for item in targets
        )

    def settled(self, value: Any, hint: str, node: ast.stmt, theirs: bool = False) -> Any:
        """A value, or those that a Python list, tuple or dict holds, as they are now: what reads memory gets a name. In
        TVM's dialect that is so only where `theirs` says it."""
        if (self.theirs and not theirs) or not any(isinstance(item, Expr) and _changes(item) for item in inside(value)):
            return value

        def settle(item: Any) -> Any:
            if type(item) in (list, tuple):
                return type(item)(map(settle, item))
            if type(item) is dict:
                return {key: settle(each) for key, each in item.items()}
            if not isinstance(item, Expr) or not _changes(item):
                return item
            var = Var(hint, item.dtype)
            self.emit(Bind(var, item, span=self.span(node)))
            return var

        with recursion_room():
            return settle(value)

    def store(self, target: ast.Subscript, value: ast.expr, node: ast.stmt, found: Any = None) -> None:
        """`A[indices] = value`."""
        owner = self.target_buffer(target)
        indices = self.indices(owner, target)
        self.store_value(owner, indices, self.open_value(value) if found is None else found, value, node)

    def target_buffer(self, target: ast.Subscript) -> Buffer:
        """The buffer whose elements `target` names."""
        owner = self.value(target.value)
        if isinstance(owner, Buffer):
            return owner
        if isinstance(owner, BufferType):
            raise self.without_memory(target.value)
        hint = "a buffer made with `T.alloc_buffer` can be written"
        message = "only elements of buffers can be assigned"
        if isinstance(owner, (list, tuple, dict)):
            message += f"; this is a Python {type(owner).__name__}, which is known while parsing"
        elif type(owner) is BufferLoad:
            rank = counted(len(owner.buffer.shape), "dimension")
            message = f"this is one element of `{owner.buffer.name}` already, which has {rank}"
            hint = f"write `{owner.buffer.name}[...] = value`"
        elif type(owner) is BufferData:
            message, hint = f"`{self.span(target.value).text}` is an address", "assign the elements of its buffer"
        elif type(owner) is Var and owner.dtype.is_handle:
            message = f"`{owner.name}` is a handle, which has no elements of its own"
            hint = matched(owner.name)
        raise self.fail("T012", message, target, hint=hint)

    def store_value(
        self,
        buffer: Buffer,
        indices: tuple[Expr, ...],
        value: Any,
        value_node: ast.expr,
        node: ast.stmt,
        predicate: Expr | None = None,
    ) -> None:
        """Emit a store, with the conversions that a store makes."""
        value = self.element(value, value_node)
        if isinstance(value, Buffer):
            raise self.whole(value, value_node, "copy it in a loop, element by element")
        to = access_dtype(buffer, indices)
        value = self.closed(value, to)
        early = next((index for index in indices[:-1] if index.dtype.is_vector), None)
        if early is not None and isinstance(value, Expr) and value.dtype.lanes != to.lanes:
            raise self.early_vector(buffer, early, node)
        try:
            expr = self.placed(convert(fit(value, to) if self.theirs else value, to, "the value"), value_node)
        except DiagnosticError as problem:
            found = problem.diagnostics[0]
            notes = (Label(buffer.span, f"`{buffer.name}` is declared here"),) if buffer.span is not None else ()
            hint = found.hint
            have = value.dtype if isinstance(value, Expr) else FLOAT32 if isinstance(value, float) else None
            if buffer.is_scalar and have is not None and found.code == "T110" and not have.is_handle:
                hint = f"declare it wider, `{buffer.name}: T.{have} = ...`, or {hint}"
            if found.code == "T103" and not to.is_float and type(value) is int and -(1 << 63) <= value < 1 << 63:
                hint = (
                    f'declare `{buffer.name}` of a dtype that holds it, or wrap it: `T.int64({value}).astype("{to}")`'
                )
            raise self.fail(found.code, found.message, value_node, hint=hint, notes=notes) from None
        self.emit(BufferStore(buffer, indices, expr, predicate, span=self.span(node)))

    def early_vector(self, buffer: Buffer, index: Expr, node: ast.stmt) -> Abort:
        """A vector stands for an index that is not the last one: why the lanes of the value do not fit."""
        targets = getattr(node, "targets", None) or [getattr(node, "target", node)]
        places = [place for target in targets if isinstance(target, ast.Subscript) for place in index_nodes(target)]
        same = [place for place in places if index.span is not None and self.span(place) == index.span]
        slices = [place for place in places if isinstance(place, ast.Slice)]
        hint = "loop over the other dimensions: `for i in range(n):`"
        message = f"only the last index of `{buffer.name}` may be a vector"
        return self.fail("T112", message, (*same, *slices, node)[0], hint=hint)

    def _augmented(self, node: ast.AugAssign) -> None:
        entry = _BINARY_OPS.get(type(node.op))
        if entry is None:
            raise self.fail("T021", "`@=` is not part of the language", node, hint="write the loops")
        target = node.target
        if isinstance(target, ast.Name):
            place = self.element_named(target.id)
            indices: tuple[Expr, ...] = () if place is None else FIRST
            if place is None:
                self.check_assignable(target.id, target)
                place = self.lookup_scalar(target.id)
            view = self.lookup(target.id)
            if type(view) is Stale:
                self.name_value(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            if type(view) is Poison:
                raise Abort(target)
            if place is None:
                if any(target.id in scope for scope in self.scopes):
                    hint = "give it to a name of its own first, or let it be an element of a buffer"
                    raise self.fail("T012", f"`{target.id}` is not a mutable scalar", target, hint=hint)
                raise self.undefined(target, f"declare it before, and before a loop around: `{target.id} = 0.0`")
        elif isinstance(target, ast.Subscript):
            owner = self.target_buffer(target)
            place, indices = owner, tuple([self._once(index, node) for index in self.indices(owner, target)])
        else:
            raise self.fail("T012", "this cannot be assigned", target)
        load = BufferLoad(place, distinct(indices), span=self.span(target))
        result = self.operator(entry, [load, self.open_value(node.value)], node.value, (target, node.value))
        self.store_value(place, indices, result, node.value, node)

    def _once(self, index: Expr, node: ast.stmt) -> Expr:
        """An index that is both read and written at: it is evaluated once, as in Python."""
        if not has_effect(index):
            return index
        var = Var("index", index.dtype)
        self.emit(Bind(var, index, span=self.span(node)))
        return var

    def _annotated(self, node: ast.AnnAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Name):
            raise self.fail("T012", "only a name can be annotated", target)
        kind = self.value(node.annotation)
        if isinstance(kind, Form) and kind.name == "let":
            kind = LetType(None)
        if isinstance(kind, LetType):
            self._let_binding(target, kind, node)
            return
        if isinstance(kind, BufferType):
            if node.value is not None:
                raise self.fail(
                    "T022", "a buffer is declared without a value", node.value, hint="store its elements afterwards"
                )
            self.declare_local(target, kind, node)
            return
        if not isinstance(kind, TypeName):
            word = {int: "int32", float: "float32", bool: "bool"}.get(_plain_type(kind)) if callable(kind) else None
            word = kind if isinstance(kind, str) and kind in scalar_names() else word
            raise self.fail(
                "T041",
                "the annotation of a variable is a dtype such as `T.float32`, or `T.let[...]`",
                node.annotation,
                hint=f"`{target.id}: T.{word}`" if word else None,
            )
        self.check_assignable(target.id, target)
        # TVM's `tir`, until 2026, printed bindings so, each in the scope of those above it, with names that recur
        once = not self.theirs or self.tiles
        if once and target.id in self.scopes[-1] and not isinstance(self.scopes[-1][target.id], (Poison, Pending)):
            raise self.fail("T202", f"`{target.id}` is declared twice", target)
        if node.value is not None and isinstance(node.value, ast.Call) and kind.dtype.is_handle:
            self.assign_name(target, self.value(node.value), node.value, node)
            return
        buffer = Buffer(target.id, (), kind.dtype, scope="scalar", span=self.span(target))
        value = None
        if node.value is not None:
            value = self.converted(node.value, kind.dtype, "the value")
        self.define(target.id, buffer)
        self.emit(ScalarDecl(buffer, value, span=self.span(node)))

    def _let_binding(self, target: ast.Name, kind: LetType, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.fail("T022", "an immutable binding needs a value", node)
        if id(target) in self.names.mutable:
            raise self.fail(
                "T012",
                f"`{target.id}` is declared immutable, but assigned again",
                target,
                hint=f"declare it `{target.id}: T.{kind.dtype or 'float32'} = ...` to let it change",
            )
        self.check_assignable(target.id, target)
        value = self.converted(node.value, kind.dtype, "the value") if kind.dtype is not None else self.expr(node.value)
        var = Var(target.id, value.dtype, span=self.span(target))  # an address is of what it was made for
        self.define(target.id, var)
        self.emit(Bind(var, value, span=self.span(node)))

    def _vstore(self, method: Method, call: ast.Call, node: ast.stmt) -> None:
        args, kwargs = self.arguments(call)
        if len(args) != 2:
            raise self.fail("T032", "write `A.vstore([indices], value, predicate=)`", call)
        if self.theirs and isinstance(args[1], Expr):
            args[0] = self.widened(args[0], args[1].dtype.lanes)
        indices, predicate = self.vector_access(method.owner, args[:1], kwargs, call)
        self.store_value(method.owner, indices, args[1], argument_place(call, 1, "value"), node, predicate)


def _changes(value: Expr) -> bool:
    return reads_memory(value) and not value.dtype.is_handle
