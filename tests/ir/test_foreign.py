"""Intrinsics of other machines: kept and printed, refused by name where a program is run."""

from __future__ import annotations

import pytest
from helpers.script import function, one_mistake

import tirscript
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.ir.op import FOREIGN, OPS
from tirscript.script import parse


def test_they_are_no_entries_of_the_table_that_runs() -> None:
    assert not set(FOREIGN) & set(OPS)
    assert all(entry.doc and entry.make is not None for entry in FOREIGN.values())


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('T.call_llvm_pure_intrin("int32", "llvm.x86.thing", n, n)', "int32"),
        ('T.tvm_storage_sync("shared")', "int32"),
        ('T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 16, 1)', "handle"),
        ("T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[0], 0, 32, 32)", "float32"),
        ('T.vectorlow("float32x4", A[0:8])', "float32x4"),
        ("T.q_multiply_shift(n, n, 31, 2)", "int32"),
        ("T.call_spirv_pure_glsl450(T.uint32(27), A[0])", "float32"),
        ('T.nd_mem_alloc_with_scope("global.vtcm", T.int64(2), T.tvm_stack_make_shape(4, 4))', "handle"),
        ('T.tvm_call_trace_packed_lowered("f", A.data, A.data, 0, 1, A[0])', "int32"),
        ('T.tvm_thread_context(T.call_extern("handle", "VTATLSCommandHandle"))', "handle"),
        ('T.call_ffi_kernel("k", A.data, n // 2, launch_params=["threadIdx.x"], ret_ty="int32")', "int32"),
        ('T.call_ffi_kernel("k", A.data, launch_params=[], ret_ty="int64")', "int64"),
    ],
)
def test_they_are_read_and_printed(text: str, result: str) -> None:
    made = function(f"T.evaluate({text})")
    assert made.body[0].value.dtype.name == result
    assert text in made.script() and structural_equal(made, parse(made.script()))


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ('T.call_ffi_kernel("k", n)', "T032", "`launch_params` is missing"),
        ("T.call_ffi_kernel(n, launch_params=[])", "T104", "takes the kernel's name as a string"),
        ('T.call_ffi_kernel("k", launch_params=3)', "T104", "is a list of names"),
        ('T.call_ffi_kernel("k", launch_params=["a, b"])', "T104", "is a list of names"),
        ('T.call_ffi_kernel("k", launch_params=[], ret_ty="flot")', "T109", "'flot' is not an element type"),
    ],
)
def test_launches_that_are_none(text: str, code: str, why: str) -> None:
    found = one_mistake(f"T.evaluate({text})")
    assert found.code == code and why in found.message


def test_their_arguments_are_counted() -> None:
    assert "takes 5 arguments, not 1" in one_mistake("T.evaluate(T.tvm_access_ptr(A.data))").message
    assert one_mistake('T.evaluate(T.vectorlow("float31", n))').code == "T109"


def test_running_them_is_refused_by_name() -> None:
    made = function('T.tvm_storage_sync("shared")', "n: T.int32")
    with pytest.raises(DiagnosticError, match=r"T308.*tvm_storage_sync"):
        tirscript.interpret(made, 1)
    with pytest.raises(DiagnosticError, match=r"T402.*tvm_storage_sync"):
        tirscript.build(made)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("T.cuda.__shfl_down_sync(T.cuda.__activemask(), A[0], 16, 32)", None),
        (
            "T.tir.cuda.__shfl_xor_sync(T.tir.cuda.__activemask(), A[0], 1, 32)",
            "T.cuda.__shfl_xor_sync(T.cuda.__activemask(), A[0], 1, 32)",
        ),
        (
            'T.ptx_mma("void", "m8n8k4", "row", "col", "fp16", "fp16", "fp32", A.data, 0, A.data, 0, A.data, 0, T.bool(False))',
            'T.ptx_legacy.mma("void", "m8n8k4", "row", "col", "fp16", "fp16", "fp32", A.data, 0, A.data, 0, A.data, 0, False)',
        ),
        (
            'T.ptx_ldmatrix(False, 4, ".b16", A.data, 0, A.data, 0, dtype="float16")',
            'T.ptx_legacy.ldmatrix("float16", False, 4, ".b16", A.data, 0, A.data, 0)',
        ),
        ('T.mma_fill("float32", 8, A.data, 0)', 'T.cuda.mma_fill_legacy("float32", 8, A.data, 0)'),
        (
            'T.ptx_cp_async("float16", A.data, 0, A.data, 8, 16)',
            'T.s_tir.cp_async_raw("float16", A.data, 0, A.data, 8, 16)',
        ),
        ("T.ptx_wait_group(0)", "T.ptx.cp_async_wait_group(0)"),
        ("T.ptx_init_barrier_thread_count(0, 128)", None),
        (
            "T.simdgroup_load(A.data, 0, A.data, 8, 8, 8, T.bool(True))",
            "T.metal.simdgroup_load(A.data, 0, A.data, 8, 8, 8, True)",
        ),
    ],
)
def test_those_for_gpus_are_read_by_their_older_names(theirs: str, ours: str | None) -> None:
    head = 'from tvm.script import tir as T\n\n@T.prim_func\ndef f(A: T.Buffer((16,), "float32")):\n'
    made = parse(f"{head}    T.evaluate({theirs})\n")
    text = " ".join(made.script().replace("(\n", "(").split()).replace("( ", "(").replace(", )", ")")
    assert (ours or theirs) in text
    assert structural_equal(parse(made.script()), made)
    assert structural_equal(parse(made.script(dialect="tvm")), made)


def test_a_dtype_that_was_not_printed_is_that_which_tvm_takes_then() -> None:
    values = '"m16n8k32", "row", "col", "e4m3", "e4m3", "fp32", A.data, 0, A.data, 0, A.data, 0, False'
    made = function(f"T.evaluate(T.ptx_legacy.mma({values}))")
    assert structural_equal(made, function(f'T.evaluate(T.ptx_legacy.mma("void", {values}))'))
    assert "takes 13 or more arguments, not 1" in one_mistake("T.evaluate(T.ptx_legacy.mma(n))").message


def test_the_others_for_gpus_are_named() -> None:
    mistake = one_mistake("T.evaluate(T.ptx.tcgen05_alloc(n))")
    assert mistake.code == "T021" and "`T.ptx.tcgen05_alloc`, a tile primitive" in mistake.message
