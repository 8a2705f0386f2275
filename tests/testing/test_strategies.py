"""Random programs use the whole language, and the public names are there."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tirscript.testing
from tirscript.ir import Buffer, Call, Node, walk
from tirscript.ir import stmt as statements
from tirscript.testing import inputs_for, programs


def test_random_programs_use_every_statement_and_most_operators() -> None:
    classes: set[str] = set()
    operators: set[str] = set()
    kinds: set[str] = set()

    @settings(max_examples=600, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs(runnable=False))
    def collect(program: Node) -> None:
        for node in walk(program):
            classes.add(type(node).__name__)
            if isinstance(node, Call):
                operators.add(node.op.name)
            if isinstance(node, statements.For):
                kinds.add(node.kind)
            if isinstance(node, Buffer):
                kinds.add(node.dtype.name)

    collect()
    concrete = {cls.__name__ for cls in statements.Stmt.__subclasses__() if cls.__module__ == statements.__name__}
    assert concrete - classes == set()
    assert {"Let", "Ramp", "Broadcast", "BufferLoad", "Range"} <= classes
    assert {"serial", "parallel", "vectorized", "unroll", "bfloat16", "int8", "uint64", "bool", "float16"} <= kinds
    assert {"thread_binding", "float8_e5m2", "float32x4"} <= kinds
    assert len(operators) > 60, sorted(operators)


@settings(max_examples=50, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_inputs_fit_the_parameters(data: st.DataObject) -> None:
    program = data.draw(programs())
    arguments = data.draw(inputs_for(program))
    assert len(arguments) == len(program.params)
    sizes: dict[Node, int] = {}
    arrays = [item for item in arguments if hasattr(item, "shape")]
    for buffer, array in zip(program.param_buffers, arrays, strict=True):
        assert array.dtype.name == buffer.dtype.name
        assert array.ndim == buffer.ndim
        for dim, size in zip(buffer.shape, array.shape, strict=True):
            assert sizes.setdefault(dim, size) == size or not isinstance(dim, tirscript.ir.Var)
    for param, argument in zip(program.params, arguments, strict=True):
        if param in sizes:
            assert argument == sizes[param]


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="no attribute 'program'"):
        tirscript.testing.program  # type: ignore[attr-defined]
