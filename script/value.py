"""Constructs that hold names of their own or describe something: reductions, index maps, targets, shuffles.

| text | node |
|---|---|
| `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])` | CommReducer |
| `T.Reduce(combiner, lambda k: [A[k]], [16])`, `T.reduce(combiner, source=, axis=[T.iter_var(...)])` | Reduce |
| `T.index_map(lambda i, j: (i // 4, j, i % 4))` | IndexMap |
| `T.target("llvm -mcpu=skylake")`, `T.target({"kind": "llvm"})` | Target |
| `T.Shuffle([a, b], [1, 0])` | Shuffle |
| TVM's `T.Let(body, where={x: value})` over `x = T.float32()` | Let |
"""

from __future__ import annotations

import ast
from typing import Any

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import CommReducer, Const, Expr, Let, Range, Reduce, Shuffle, Var, const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import as_expr
from tirscript.ir.rewrite import substitute
from tirscript.ir.target import Target

from .call import _VALUE_FORMS, CallLowering
from .call_mistakes import argument_error
from .context import _MISSING
from .expr import same_dtype


class IterVar(Struct, frozen=True, eq=False):
    """`T.iter_var(k, T.Range(0, 16), "CommReduce", "")`: TVM's spelling of an axis."""

    var: Any
    domain: Any
    kind: str = "CommReduce"
    tag: str = ""


class ValueLowering(CallLowering):
    """Lowers them."""

    def lambda_parts(self, node: ast.Lambda, kinds: list[DType] | DType) -> tuple[tuple[Var, ...], Any]:
        """The names of a lambda as variables of the given dtypes, and what its body means."""
        given = node.args
        names = [arg.arg for arg in given.args]
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or given.defaults:
            raise self.fail("T032", "the lambda takes plain names", node, hint="lambda i, j: (j, i)")
        dtypes = kinds if isinstance(kinds, list) else [kinds] * len(names)
        if len(dtypes) != len(names):
            raise self.fail("T032", f"the lambda takes {len(names)} names, not {len(dtypes)}", node)
        params = tuple(
            Var(name, kind, span=self.span(arg)) for name, kind, arg in zip(names, dtypes, given.args, strict=True)
        )
        return params, self.under(dict(zip(names, params, strict=True)), node.body)

    def under(self, names: dict[str, Any], node: ast.expr) -> Any:
        """What a node means with more names in scope."""
        self.scopes.append(names)
        try:
            return self.value(node)
        finally:
            self.scopes.pop()

    def exprs(self, value: Any, node: ast.expr, kinds: list[DType] | DType | None = None) -> tuple[Expr, ...]:
        """One value or several as expressions; bare numbers take the dtypes given."""
        items = list(value) if isinstance(value, (tuple, list)) else [value]
        dtypes = kinds if isinstance(kinds, list) else [kinds] * len(items)
        if len(dtypes) != len(items):
            raise self.fail("T032", f"{len(items)} values stand here for {len(dtypes)}", node)
        try:
            return tuple(self.placed(as_expr(item, kind), node) for item, kind in zip(items, dtypes, strict=True))
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def single(self, value: Any, node: ast.expr, what: str, kind: DType | None = None) -> Expr:
        """One value as an expression; a bare number takes the dtype given."""
        if isinstance(value, (tuple, list)):
            raise self.fail("T104", f"{what} is one value, not a {type(value).__name__}", node)
        return self.exprs(value, node, kind)[0]

    def named(self, call: ast.Call, name: str, names: tuple[str, ...], required: int) -> dict[str, ast.expr]:
        """The syntax nodes of a construct's arguments by name."""
        if len(call.args) > len(names) or any(isinstance(arg, ast.Starred) for arg in call.args):
            raise self.fail("T032", f"`T.{name}` takes {', '.join(names)}", call)
        given = dict(zip(names, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg not in names:
                raise self.fail("T032", f"`T.{name}` has no argument `{keyword.arg}`", keyword.value)
            if keyword.arg in given:
                raise self.fail("T032", f"`{keyword.arg}` is given twice", keyword.value)
            given[keyword.arg] = keyword.value
        for field in names[:required]:
            if field not in given:
                raise self.fail("T032", f"`T.{name}` takes {', '.join(names)}; `{field}` is missing", call)
        return given

    # reductions

    def _comm_reducer(self, call: ast.Call) -> CommReducer:
        given = self.named(call, "comm_reducer", ("combiner", "identity"), 2)
        function = given["combiner"]
        identity = self.exprs(self.value(given["identity"]), given["identity"])
        kinds = [item.dtype for item in identity]
        if not isinstance(function, ast.Lambda) or len(function.args.args) != 2 * len(kinds) or not kinds:
            raise self.fail(
                "T032",
                f"the combiner is a lambda of {2 * len(kinds) or 'two or more'} names, two for each identity",
                function,
                hint="T.comm_reducer(lambda x, y: x + y, [T.float32(0)])",
            )
        params, body = self.lambda_parts(function, [*kinds, *kinds])
        results = self.exprs(body, function.body, kinds)
        half = len(kinds)
        return CommReducer(params[:half], params[half:], results, identity, span=self.span(call))

    def _reduce(self, call: ast.Call) -> Reduce:
        theirs = [keyword.arg for keyword in call.keywords if keyword.arg in ("axis", "rdom")]
        names = ("combiner", "source", theirs[0] or "" if theirs else "axes", "condition", "value_index", "init")
        given = self.named(call, "Reduce", names, 2)
        combiner = self.value(given["combiner"])
        if not isinstance(combiner, CommReducer):
            raise self.fail("T032", "the combiner of a reduction is a `T.comm_reducer`", given["combiner"])
        axes_node = given.get(names[2])
        items = [] if axes_node is None else self.value(axes_node)
        if axes_node is not None and not isinstance(items, (tuple, list)):
            raise self.fail("T032", "the axes are a list of extents or pairs (start, stop)", axes_node)
        kinds = [item.dtype for item in combiner.identity]
        if any(isinstance(item, IterVar) for item in items):
            made = self._their_reduce(given, items, axes_node or call, combiner, kinds)
        else:
            domains = tuple(self.domain(item, axes_node or call) for item in items)
            dtypes = [domain.start.dtype for domain in domains]
            axes, source = self.parts_over(given["source"], dtypes, kinds)
            condition = given.get("condition")
            if isinstance(condition, ast.Lambda):
                over, test = self.lambda_parts(condition, dtypes)
                test = substitute(test, dict(zip(over, axes, strict=True))) if isinstance(test, Expr) else test
            else:
                test = True if condition is None else self.condition(condition)
            made = Reduce(combiner, source, axes, domains, self.test(test, condition or call))
        index = self.python(given["value_index"], "the value index", (int,)) if "value_index" in given else 0
        if not 0 <= index < len(kinds):
            raise self.fail("T032", f"the value index {index} is outside of the {len(kinds)} values", call)
        init: tuple[Expr, ...] = ()
        if "init" in given:
            values = self.value(given["init"])
            init = self.exprs(values, given["init"], kinds) if values else ()
        return made.replace(value_index=index, init=init, span=self.span(call))

    def parts_over(
        self, node: ast.expr, dtypes: list[DType], kinds: list[DType]
    ) -> tuple[tuple[Var, ...], tuple[Expr, ...]]:
        """The sources of a reduction, and the axes they are written over."""
        if isinstance(node, ast.Lambda):
            axes, body = self.lambda_parts(node, dtypes)
            return axes, self.exprs(body, node.body, kinds)
        if dtypes:
            raise self.fail(
                "T032", "the source of a reduction with axes is a lambda over them", node, hint="lambda k: [A[k]]"
            )
        return (), self.exprs(self.value(node), node, kinds)

    def domain(self, item: Any, node: ast.expr) -> Range:
        """An axis's extent, or (start, stop)."""
        if isinstance(item, Range):
            return item
        pair = isinstance(item, (tuple, list))
        if pair and len(item) != 2:
            raise self.fail("T032", "an axis is an extent or a pair (start, stop)", node)
        if not pair:
            (stop,) = self.exprs(item, node)
            parts: tuple[Expr, ...] = (const(0, stop.dtype if stop.dtype.is_int else None), stop)
        else:
            parts = self.exprs(item, node)
        if not all(part.dtype.is_int and not part.dtype.is_vector for part in parts):
            raise self.fail("T112", "an axis runs over integers", node)
        return Range(*same_dtype(*parts))

    def test(self, value: Any, node: ast.AST) -> Expr | None:
        """The condition of a reduction, None where it is always true."""
        if isinstance(value, Const):
            value = value.value
        if isinstance(value, Expr):
            if not value.dtype.is_bool:
                raise self.fail("T102", f"the condition is {value.dtype}, not bool", node, hint="compare it: `x != 0`")
            return value
        return None if value else const(False)

    def _their_reduce(
        self,
        given: dict[str, ast.expr],
        items: Any,
        node: ast.expr,
        combiner: CommReducer,
        kinds: list[DType],
    ) -> Reduce:
        if not all(isinstance(item, IterVar) and type(item.var) is Var for item in items):
            raise self.fail("T032", "the axes are a list of `T.iter_var(...)`", node)
        source = self.exprs(self.value(given["source"]), given["source"], kinds)
        condition = given.get("condition")
        test = True if condition is None else self.condition(condition)
        made = Reduce(
            combiner,
            source,
            tuple(item.var for item in items),
            tuple(self.domain(item.domain, node) for item in items),
            self.test(test, condition or node),
        )
        # the name stands for this reduction's own axis: another one may use it too
        fresh: Reduce = substitute(made, {var: var.replace() for var in made.axes})
        return fresh

    def _iter_var(self, call: ast.Call) -> IterVar:
        given = self.named(call, "iter_var", ("v", "dom", "iter_type", "thread_tag"), 2)
        tags = [field for field in ("iter_type", "thread_tag") if field in given]
        words = {field: self.python(given[field], f"`{field}`", (str,)) for field in tags}
        kind, tag = words.get("iter_type", "CommReduce"), words.get("thread_tag", "")
        return IterVar(self.value(given["v"]), self.value(given["dom"]), kind, tag)

    def _range(self, call: ast.Call) -> Range:
        given = self.named(call, "Range", ("begin", "end"), 2)
        return self.domain((self.value(given["begin"]), self.value(given["end"])), call)

    # index maps and targets

    def _index_map(self, call: ast.Call) -> IndexMap:
        given = self.named(call, "index_map", ("mapping", "inverse_index_map", "index_dtype"), 1)
        kind = self.dtype_of(self.value(given["index_dtype"]), call) if "index_dtype" in given else INT64
        made = self.map_of(given["mapping"], kind)
        back = given.get("inverse_index_map")
        if back is None or (isinstance(back, ast.Constant) and back.value is None):
            return made.replace(span=self.span(call))
        inverse = self.map_of(back, kind)
        if len(inverse.params) != len(made.indices) or len(inverse.indices) != len(made.params):
            raise self.fail("T032", "the inverse takes what the map makes, and makes what the map takes", back)
        return made.replace(inverse=inverse, span=self.span(call))

    def map_of(self, node: ast.expr, kind: DType) -> IndexMap:
        """A lambda, or in a decorated function a Python function, as an index map."""
        if isinstance(node, ast.Lambda):
            params, body = self.lambda_parts(node, kind)
            indices = self.exprs(body, node.body, kind)
            if not all(index.dtype.is_int for index in indices):
                raise self.fail("T112", "an index map makes integers", node.body)
            return IndexMap(params, indices, span=self.span(node))
        value = self.value(node)
        if isinstance(value, IndexMap):
            return value
        if self.trusted and callable(value):
            made: IndexMap = self.plain(lambda: IndexMap.of(value, dtype=kind), node, ())
            return made
        raise self.fail("T032", "an index map is a lambda", node, hint="T.index_map(lambda i, j: (j, i))")

    def _target(self, call: ast.Call) -> Target:
        args, kwargs = self.arguments(call)
        try:
            return Target.parse(*args, **kwargs).replace(span=self.span(call))
        except (TypeError, ValueError) as problem:
            why = argument_error(problem) if isinstance(problem, TypeError) else str(problem)
            raise self.fail("T032", f"no target: {why}", call, hint='T.target("llvm -mcpu=skylake")') from None

    # TVM's bindings in expressions

    def _their_let(self, call: ast.Call) -> Expr:
        given = self.named(call, "Let", ("expr", "where"), 2)
        pairs = given["where"]
        if not isinstance(pairs, ast.Dict) or len(pairs.keys) != 1 or pairs.keys[0] is None:
            raise self.fail("T032", "`where` is a dict of one variable and its value", pairs, hint="where={x: value}")
        key = pairs.keys[0]
        if isinstance(key, ast.Name) and self.lookup(key.id) is _MISSING:
            # declared where TVM's printer has it: at the first statement, or in a loop whose extent this is
            value = self.expr(pairs.values[0])
            fresh = Var(key.id, value.dtype, span=self.span(key))
            return Let(fresh, value, as_expr(self.under({key.id: fresh}, given["expr"])), span=self.span(call))
        var = self.value(key)
        if type(var) is not Var:
            raise self.fail("T032", "`T.Let` binds a variable", key, hint="x = T.float32()")
        value = self.converted(pairs.values[0], var.dtype, f"`{var.name}`")
        fresh = var.replace(span=self.span(key))
        body = substitute(self.expr(given["expr"]), {var: fresh})
        return Let(fresh, value, body, span=self.span(call))

    # vectors

    def _shuffle(self, call: ast.Call) -> Shuffle:
        vectors, indices = self.form_arguments(call, "Shuffle", ("vectors", "indices"))
        if not isinstance(vectors, (tuple, list)) or not vectors or not isinstance(indices, (tuple, list)):
            raise self.fail("T032", "`T.Shuffle` takes a list of vectors and one of indices", call)
        parts = self.exprs(vectors, call)
        element = parts[0].dtype.element
        if any(part.dtype.element is not element or part.dtype.scalable for part in parts):
            raise self.fail("T107", "the vectors of `T.Shuffle` have one dtype of a fixed number of lanes", call)
        lanes = sum(part.dtype.lanes for part in parts)
        places = [index.value if type(index) is Const else index for index in indices]
        lanes_taken = tuple(place for place in places if type(place) is int)
        if not places or len(lanes_taken) != len(places):
            raise self.fail("T032", "the indices of `T.Shuffle` are ints known while parsing", call)
        for place in lanes_taken:
            if not 0 <= place < lanes:
                raise self.fail("T113", f"lane {place} is outside of the {lanes} lanes of these vectors", call)
        return Shuffle(parts, lanes_taken, span=self.span(call))


_VALUE_FORMS.update(
    {
        "comm_reducer": ValueLowering._comm_reducer,
        "Reduce": ValueLowering._reduce,
        "iter_var": ValueLowering._iter_var,
        "Range": ValueLowering._range,
        "index_map": ValueLowering._index_map,
        "target": ValueLowering._target,
        "Shuffle": ValueLowering._shuffle,
        "Let": ValueLowering._their_let,
    }
)
