"""The nodes of a model with what is defined by other operators written out: functions of its own, and operators that
the standard itself defines by a function body and that no rule is for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.node import recursion_room

DEEPEST = 8  # functions of operators that are functions
_STANDARD = ("", "ai.onnx", "ai.onnx.preview")
_OWN = "written.out"  # the domain of functions that stand for operators
MOST_NODES = 1 << 20  # of a model with its functions written out


def nodes_of(model: Any, known: Collection[str]) -> Iterable[Any]:
    """The nodes of an `onnx.ModelProto`, in which functions are written out but for the operators that are `known`."""
    unknown = _unknown(model.graph, known, {(one.domain, one.name) for one in model.functions})
    if not unknown and not model.functions:
        return model.graph.node  # type: ignore[no-any-return]
    thin = _thin(model)
    if thin.functions:
        _check_size(thin)
        _in_one_version(thin)
        thin = _inlined(thin, None)
    for _ in range(DEEPEST):
        unknown = _unknown(thin.graph, known, set())
        found = _inlined(thin, unknown) if unknown else None
        if found is None or _unknown(found.graph, known, set()) == unknown:
            break
        thin = found
    return thin.graph.node  # type: ignore[no-any-return]


def _check_size(model: Any) -> None:
    """Refuse functions that call functions until they are longer, written out, than any model is."""
    bodies = {(one.domain, one.name): one.node for one in model.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size(nodes: Iterable[Any]) -> int:
        total = 0
        for node in nodes:
            key = node.domain, node.op_type
            if key in bodies and key not in sizes:
                sizes[key] = 1  # of one that calls itself: whoever writes it out says so
                sizes[key] = size(bodies[key])
            total += sizes.get(key, 1)
            total += sum(size(attribute.g.node) for attribute in node.attribute if attribute.HasField("g"))
        return total

    with recursion_room():
        if (found := size(model.graph.node)) > MOST_NODES:
            message = f"the functions of the model cannot be written out: that would be {found:,} nodes"
            raise DiagnosticError([error("T402", message)])


def _unknown(graph: Any, known: Collection[str], own: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The operators of the standard, in a graph and those inside it, that are not known."""
    found = set()
    for node in graph.node:
        if (node.domain, node.op_type) in own:
            continue
        if node.domain in _STANDARD and node.op_type not in known:
            found.add((node.domain, node.op_type))
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _unknown(attribute.g, known, own)
    return found


def _thin(model: Any) -> Any:
    """The model without the data of its weights, which would be copied: their types alone."""
    import onnx

    thin = onnx.ModelProto(ir_version=model.ir_version)
    thin.opset_import.extend(model.opset_import)
    thin.functions.extend(model.functions)
    thin.graph.name = model.graph.name or "main"
    for field in ("input", "output", "value_info", "node"):
        getattr(thin.graph, field).extend(getattr(model.graph, field))
    given = {one.name for one in model.graph.input}
    thin.graph.input.extend(
        onnx.helper.make_tensor_value_info(one.name, one.data_type, list(one.dims))
        for one in model.graph.initializer
        if one.name not in given
    )
    return thin


def _in_one_version(model: Any) -> None:
    """Let functions be of the versions of the model where their operators are the same in both: others are converted by
    onnx, for which it needs types that it does not find everywhere."""
    from onnx import defs

    def plain(domain: str) -> str:
        return "" if domain == "ai.onnx" else domain  # two names of one

    versions = {plain(one.domain): one.version for one in model.opset_import}

    def same(nodes: Iterable[Any], domain: str, old: int) -> bool:
        inner = (one.g.node for node in nodes for one in node.attribute if one.HasField("g"))
        kinds = {node.op_type for node in nodes if plain(node.domain) == domain}
        since = (
            {defs.get_schema(kind, version, domain).since_version for version in (old, versions[domain])}
            for kind in kinds
            if defs.has(kind, old, domain) and defs.has(kind, versions[domain], domain)
        )
        return all(len(one) == 1 for one in since) and all(same(graph, domain, old) for graph in inner)

    for function in model.functions:
        for used in function.opset_import:
            domain = plain(used.domain)
            version = versions.get(domain, used.version)
            if version != used.version and same(function.node, domain, used.version):
                used.version = version


def _inlined(model: Any, operators: set[tuple[str, str]] | None) -> Any | None:
    """The model with its own functions written out, or those that define operators; None where that cannot be done."""
    from onnx import inliner, shape_inference

    try:
        if operators is None:
            found = inliner.inline_local_functions(model)
            return inliner.inline_local_functions(found, convert_version=True) if found.functions else found
        _with_defaults(model.graph, operators, {one.domain: one.version for one in model.opset_import})
        # what a function is made of may depend on the types of its arguments
        typed = shape_inference.infer_shapes(model)
        if _without_gaps(typed, operators):
            typed = shape_inference.infer_shapes(inliner.inline_local_functions(typed))
        return inliner.inline_selected_functions(typed, sorted(operators), inline_schema_functions=True)
    except Exception as problem:  # what onnx raises has no common type
        if operators is None:
            message = f"the functions of the model cannot be written out: {problem}"
            raise DiagnosticError([error("T402", message)]) from None
        return None


def _without_gaps(model: Any, operators: set[tuple[str, str]]) -> bool:
    """Make nodes of some operators that leave out an input before another one, which the inliner does not take, calls
    of functions of the model: those that define the operators. Whether there are such nodes."""
    from onnx import FunctionProto, TypeProto, defs

    versions = {one.domain: one.version for one in model.opset_import}
    made = 0

    def visit(graph: Any, outside: dict[str, Any]) -> None:
        nonlocal made
        types = {**outside, **{one.name: one.type for one in (*graph.input, *graph.value_info, *graph.output)}}
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    visit(attribute.g, types)
            last = max((at for at, name in enumerate(node.input) if name), default=0)
            if (node.domain, node.op_type) not in operators or "" not in node.input[:last]:
                continue
            schema: Any = defs.get_schema(node.op_type, versions[node.domain], node.domain)
            if schema.has_context_dependent_function:
                given = [types.get(name, TypeProto()).SerializeToString() for name in node.input]
                known = schema.context_dependent_function_opset_versions
                version = max((one for one in known if one <= versions[node.domain]), default=min(known))
                text = schema.get_context_dependent_function_with_opset_version(
                    version, node.SerializeToString(), given
                )
                body = FunctionProto.FromString(text)
            else:
                body = FunctionProto()
                body.CopyFrom(schema.function_body)
            body.domain, body.name = _OWN, f"{node.op_type}_{made}"
            body.attribute[:] = list(schema.attributes)
            model.functions.append(body)
            node.domain, node.op_type = body.domain, body.name
            made += 1

    visit(model.graph, {})
    if made:
        model.opset_import.add(domain=_OWN, version=1)
    return made > 0


def _with_defaults(graph: Any, operators: set[tuple[str, str]], versions: dict[str, int]) -> None:
    """Give nodes of some operators the attributes that they leave out: functions use them by name."""
    from onnx import defs

    for node in graph.node:
        if (node.domain, node.op_type) in operators and defs.has(node.op_type, node.domain):
            given = {one.name for one in node.attribute}
            schema = defs.get_schema(node.op_type, versions[node.domain], node.domain)
            for name, attribute in schema.attributes.items():
                if name not in given and attribute.default_value.name:
                    node.attribute.append(attribute.default_value)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _with_defaults(attribute.g, operators, versions)


__all__ = ["nodes_of"]
