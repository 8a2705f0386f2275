"""Functions with hand-written kernels, to test the entry without the code generator."""

from __future__ import annotations

import textwrap
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import pytest

from tirscript.backend.llvm.builder import ModuleText
from tirscript.backend.llvm.entry import TABLE, EntryPlan, Table, add_entry, add_portable_entry
from tirscript.backend.llvm.types import call_type
from tirscript.backend.runtime import layout
from tirscript.backend.runtime.arguments import written_params
from tirscript.backend.runtime.failure import Failure
from tirscript.backend.runtime.function import Function, PortableFunction, make_function
from tirscript.backend.runtime.slow import PortablePath, SlowPath
from tirscript.ir import Buffer, PrimFunc
from tirscript.ir.written import noalias
from tirscript.script import parse

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def make(
    func: PrimFunc,
    kernel: str,
    *,
    portable: bool = False,
    release: bool = False,
    noalias: bool = True,
    sites: tuple[Any, ...] = (),
) -> Any:
    """`func` as a function object around the LLVM function `@kernel` in the text."""
    module, table = ModuleText(), Table()
    written = written_params(func)
    module.define("kernel", kernel)
    plan = EntryPlan(func, "kernel", func.symbols, written, noalias, release)
    symbol = add_portable_entry(module, plan) if portable else add_entry(module, table, plan)
    table.finish(module)
    parsed = llvm.parse_assembly(module.text("nounwind"))
    parsed.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3, cpu=llvm.get_host_cpu_name(), jit=True)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(parsed, builder)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    layout.fill_table(engine.get_global_value_address(TABLE), table.slots)
    address = engine.get_function_address(symbol)
    core = SimpleNamespace(func=func, engine=engine, signature=lambda: "()")
    fail = Failure(sites)
    if portable:
        path = PortablePath(func, written, noalias, address, plan.symbols, fail, release)
        return make_function(PortableFunction, core, slow=path, fail=fail)
    path = SlowPath(func, written, noalias, lambda slow: make_function(Function, core, address, slow, fail))
    return make_function(Function, core, address, path, fail)


@pytest.fixture
def make_native() -> Any:
    """`make`, for tests."""
    return make


def probe(text: str, echo: str | int | None = None, **options: Any) -> Any:
    """A parsed function whose kernel does nothing but give back its parameter number, or symbol, `echo`."""
    func = parse("from tirscript.script import tir as T\n@T.prim_func\n" + textwrap.dedent(text))
    assert isinstance(func, PrimFunc)
    kinds = ["ptr" if isinstance(p, Buffer) else call_type(p.dtype) for p in (*func.params, *func.symbols)]
    names = [f"%p{at}" for at in range(len(kinds))]
    params = [f"{kind} {name}" for kind, name in zip(kinds, names)]
    body = "ret i32 0"
    if func.returns is not None:
        params.append("ptr %out")
        if isinstance(echo, str):
            echo = len(func.params) + [var.name for var in func.symbols].index(echo)
        value = f"{kinds[echo or 0]} {names[echo or 0]}"
        if kinds[echo or 0] == "ptr":
            value, body = "i64 %address", f"%address = ptrtoint ptr {names[echo or 0]} to i64\n"
        else:
            body = ""
        body += f"store {value}, ptr %out\nret i32 0"
    kernel = f'define i32 @"kernel"({", ".join([*params, "ptr %error"])}) {{\n{body}\n}}'
    return make(func, kernel, noalias=noalias(func), **options)


@pytest.fixture(params=[False, True], ids=["native", "portable"])
def probing(request: pytest.FixtureRequest) -> Any:
    """`probe`, through the native entry and through ctypes."""
    return lambda text, echo=None, **options: probe(text, echo, portable=request.param, **options)


@pytest.fixture(scope="module")
def make_probe() -> Any:
    """`probe`, for tests that make functions once."""
    return probe
