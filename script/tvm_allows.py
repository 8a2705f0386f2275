"""What the verifier refuses and TVM allows: its text is read, the functions concerned marked as not to be checked."""

from __future__ import annotations

from msgspec.structs import force_setattr

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionCall, FunctionRef, GraphFunc
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk
from tirscript.ir.verify import check_well_formed, verify_function

Definition = PrimFunc | GraphFunc | Module


def _recursive(definition: Definition, problem: DiagnosticError) -> bool:
    """Whether only calls in a circle are wrong, which TVM allows: then the graph functions are marked as unchecked."""
    if isinstance(definition, PrimFunc) or any(found.code != "T215" for found in problem.diagnostics):
        return False
    for func in definition.graph_funcs if isinstance(definition, Module) else (definition,):
        force_setattr(func, "check_well_formed", False)
    return True


def _writing(definition: Definition, problem: DiagnosticError) -> bool:
    """Whether only direct calls of tensor functions in pure functions are wrong, which TVM takes for pure: then the
    functions that have some are marked as unchecked. Passes see the effects of such calls all the same."""
    if not isinstance(definition, Module) or any(found.code != "T216" for found in problem.diagnostics):
        return False
    kernels = {func.name for func in definition.functions if isinstance(func, PrimFunc)}
    marked = [
        func
        for func in definition.graph_funcs
        if any(
            type(node) is FunctionCall and type(node.function) is FunctionRef and node.function.function in kernels
            for node in walk(func)
        )
    ]
    for func in marked:
        force_setattr(func, "check_well_formed", False)
    return bool(marked) and _well_formed(definition)


def _well_formed(definition: Definition) -> bool:
    try:
        check_well_formed(definition)
    except DiagnosticError:
        return False
    return True


# of tensor functions: values of axes, which its schedules leave covered in part; memory that nothing writes, in pieces
# of programs; and constant indices, which it does not look at
_UNSEEN = frozenset(("T203", "T208", "T113"))


def _unseen(definition: Definition, problem: DiagnosticError) -> bool:
    """Whether only that is wrong which TVM does not look at: then the functions that have it are marked as not to be
    checked, so that our own text of them is read again."""
    made = definition.functions if isinstance(definition, Module) else (definition,)
    functions = [found for found in made if isinstance(found, PrimFunc)]
    names = {found.name: found for found in functions} if isinstance(definition, Module) else None
    marked = [
        found
        for found in functions
        if (codes := {each.code for each in verify_function(found, names)}) and codes <= _UNSEEN
    ]
    for found in marked:
        force_setattr(found, "check_well_formed", False)
    return bool(marked) and _well_formed(definition)


def tvm_allows(definition: Definition, problem: DiagnosticError) -> bool:
    """Whether all that is wrong with a definition is what TVM allows; the functions concerned are marked so."""
    return any(allowed(definition, problem) for allowed in (_unseen, _recursive, _writing))
