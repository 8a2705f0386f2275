"""Intrinsics of other machines and of TVM's runtime: read, verified, kept and printed, so that programs that hold them
lose nothing; this project's interpreter and backends refuse to run them by name, but for those that other operators
write out (fixed_point.py).

An entry says where the result's dtype comes from: "first" and "last" are an argument that spells it, a name is that
dtype, and an int is the place of the argument that has it. `default` is the dtype where the first argument may be left
out: apache-tvm prints some calls without it.
"""

from __future__ import annotations

from typing import Any

from ..dtype import DType, dtype
from ..expr import Call, Expr, StringImm
from ..op import ANY, FOREIGN, Op, as_expr, fail
from ..words import counted

_MANY = 1 << 16


def _foreign(
    name: str,
    arity: tuple[int, int],
    result: str | int,
    doc: str,
    *,
    default: str | None = None,
    effect: str = "opaque",
) -> None:
    def make(*args: Any, **kwargs: Any) -> Expr:
        values = [*args, *kwargs.values()]
        if default is not None and not (values and _spells_dtype(values[0])):
            values = [default, *values]
        low, high = arity
        count = len(values) - (result in ("first", "last"))  # the dtype is spelt beside the arguments
        if not low <= count <= high:
            wanted = low if low == high else f"{low} or more"
            raise fail("T101", f"`T.{name}` takes {counted(wanted, 'argument')}, not {max(count, 0)}")
        return _call(entry, result, values)

    entry = FOREIGN[name] = Op(
        name,
        arity,
        ANY,
        doc,
        dtype_arg=result if result in ("first", "last") else None,
        make=make,
        effect=effect,  # type: ignore[arg-type]
    )


def _spells_dtype(value: Any) -> bool:
    if not isinstance(value, (str, DType)):
        return False
    try:
        return dtype(value) is not None
    except ValueError:
        return False


def _call(entry: Op, result: str | int, values: list[Any]) -> Expr:
    if result in ("first", "last"):
        spelt, values = (values[0], values[1:]) if result == "first" else (values[-1], values[:-1])
        try:
            kind: DType = dtype(spelt)
        except ValueError as problem:
            raise fail("T109", str(problem)) from None
        return Call(entry, tuple(map(as_expr, values)), kind)
    exprs = tuple(map(as_expr, values))
    return Call(entry, exprs, exprs[result].dtype if isinstance(result, int) else dtype(result))


for _name, _arity, _result, _doc in (
    ("type_annotation", (0, 0), "first", "A dtype as an argument."),
    ("vectorlow", (1, 1), "first", "The lower half of a vector."),
    ("vectorhigh", (1, 1), "first", "The upper half of a vector."),
    ("vectorcombine", (2, 2), "first", "Two vectors behind each other."),
    ("get_active_lane_mask", (2, 2), "first", "The lanes whose index is below a limit."),
    ("vscale", (0, 0), "int32", "The factor of scalable vectors."),
    ("tvm_storage_sync", (1, 3), "int32", "A barrier of the threads that share a storage."),
    ("tvm_access_ptr", (5, 5), "handle", "An address into a buffer, with what may be accessed there."),
    ("tvm_stack_alloca", (2, 2), "handle", "Memory on the caller's stack."),
    ("tvm_stack_make_shape", (0, _MANY), "handle", "A shape on the stack."),
    ("tvm_stack_make_array", (6, 6), "handle", "An array descriptor on the stack."),
    ("tvm_struct_get", (3, 3), "last", "A field of a descriptor."),
    ("tvm_struct_set", (4, 4), "int32", "A field of a descriptor is set."),
    ("tvm_thread_allreduce", (1, _MANY), "handle", "A reduction over the threads of a block."),
    ("tvm_thread_invariant", (1, 1), 0, "A value that all threads agree on."),
    ("tvm_warp_shuffle", (5, 5), 1, "A value of another lane of the warp."),
    ("tvm_warp_shuffle_up", (5, 5), 1, "A value of a lower lane of the warp."),
    ("tvm_warp_shuffle_down", (5, 5), 1, "A value of a higher lane of the warp."),
    ("tvm_warp_shuffle_xor", (5, 5), 1, "A value of the lane at the index xor."),
    ("tvm_warp_activemask", (0, 0), "uint32", "The active lanes of the warp."),
    ("tvm_fill_fragment", (6, 6), "handle", "Fill a matrix fragment."),
    ("tvm_load_matrix_sync", (8, 8), "handle", "Load a matrix fragment."),
    ("tvm_store_matrix_sync", (8, 8), "handle", "Store a matrix fragment."),
    ("tvm_mma_sync", (8, 8), "handle", "Multiply and add matrix fragments."),
    ("tvm_bmma_sync", (8, 8), "handle", "Multiply and add binary matrix fragments."),
    ("tvm_static_handle", (0, 0), "handle", "A handle kept between calls."),
    ("tvm_context_id", (0, 0), "handle", "The context of the call."),
    ("tvm_thread_context", (1, 1), 0, "A value that belongs to the thread."),
    ("tvm_call_packed_lowered", (4, _MANY), "int32", "A packed call with its stack laid out."),
    ("call_cpacked", (1, _MANY), "int32", "A packed function by C symbol."),
    ("call_packed_lowered", (1, _MANY), "int32", "A packed call with its stack laid out."),
    ("call_cpacked_lowered", (1, _MANY), "int32", "A C packed call with its stack laid out."),
    ("q_multiply_shift", (4, 4), 0, "A fixed-point multiplication with a rounding shift."),
    ("q_multiply_shift_per_axis", (7, 7), 0, "A fixed-point multiplication with shifts per axis."),
    ("start_profile_intrinsic", (1, 1), "handle", "The start of a profiled stretch."),
    ("end_profile_intrinsic", (1, 1), "handle", "The end of a profiled stretch."),
    ("anylist_getitem", (2, 2), "handle", "An item of the virtual machine's list."),
    ("anylist_resetitem", (2, 2), "int32", "An item of the virtual machine's list is dropped."),
    ("anylist_setitem_call_packed", (3, _MANY), "int32", "A packed call whose result goes into the list."),
    ("anylist_setitem_call_cpacked", (3, _MANY), "int32", "A C packed call whose result goes into the list."),
    ("handle_add_byte_offset", (2, 2), "handle", "An address some bytes further."),
    ("ptr_byte_offset", (3, 3), "handle", "An address some bytes further, of another dtype."),
    ("thread_return", (0, 0), "void", "The thread ends."),
    ("ignore_loop_partition", (1, 1), 0, "A condition that does not split loops."),
    ("s_tir.ldg32", (4, 4), "handle", "A load of 32 bits under a condition."),
    ("webgpu.subgroup_shuffle", (2, 2), 0, "A value of another lane of the subgroup."),
    ("webgpu.subgroup_shuffle_up", (2, 2), 0, "A value of a lower lane of the subgroup."),
    ("webgpu.subgroup_shuffle_down", (2, 2), 0, "A value of a higher lane of the subgroup."),
    ("custom_op.ignore_second_argument", (2, 2), 0, "An operator that a TVM extension defines: its first argument."),
    ("custom_op.matmul_bias_add", (3, _MANY), 0, "An operator that a TVM extension defines."),
    ("dp4a", (3, 3), "first", "The products of four small integers each, added up."),
    ("tvm_tuple", (0, _MANY), "void", "Several values as one argument."),
    ("tvm_throw_last_error", (0, 0), "void", "The error that a call left is raised."),
    ("tvm_check_return", (3, 3), "int32", "A call that fails where it does not give the first argument."),
    ("tvm_kernel_replace_point", (0, 0), "void", "Where a kernel is put in place of this."),
    ("tvm_global_barrier_kinit", (0, 0), "void", "The barrier of all threads is made ready."),
    ("tvm_call_trace_packed", (1, _MANY), "int32", "A packed call that is traced."),
    ("tvm_call_trace_packed_lowered", (4, _MANY), "int32", "A packed call that is traced, with its stack laid out."),
    ("call_spirv_pure_glsl450", (2, _MANY), 1, "A function of GLSL's, by its number."),
    ("nd_mem_alloc_with_scope", (3, 3), "handle", "Memory of a scope, in as many dimensions as its shape has."),
    ("TVMBackendAllocWorkspace", (5, 5), "handle", "Memory of the runtime."),
    ("TVMBackendFreeWorkspace", (3, 3), "int32", "Memory of the runtime is given back."),
    ("atomic_add", (2, 2), 1, "A value is added in memory at once; the one before it."),
    ("buffer_offset", (1, 1), "int32", "How far an element is from the beginning of its memory."),
    ("lookup_param", (1, 1), "handle", "A parameter of the model by name."),
    ("print_buffer", (5, _MANY), "float32", "Print the elements of memory."),
    ("metal.make_filled_simdgroup_matrix", (5, 5), "handle", "Fill a matrix of a SIMD group."),
    ("metal.simdgroup_load", (7, 7), "handle", "Load a matrix of a SIMD group."),
    ("metal.simdgroup_store", (7, 7), "handle", "Store a matrix of a SIMD group."),
    ("metal.simdgroup_multiply_accumulate", (8, 8), "handle", "Multiply and add matrices of a SIMD group."),
    ("texture2d_load", (3, _MANY), "handle", "A load from a texture."),
    ("texture2d_store", (4, _MANY), "handle", "A store into a texture."),
    ("dma_copy", (5, 5), "int32", "A copy by the machine's engine."),
    ("dma_wait", (2, 2), "int32", "Wait for copies of a queue."),
    ("dma_start_group", (1, 1), "int32", "A group of copies starts."),
    ("dma_end_group", (0, 0), "int32", "A group of copies ends."),
    ("cuda.__activemask", (0, 0), "uint32", "The active lanes of the warp."),
    ("cuda.__shfl_sync", (4, 4), 1, "A value of another lane of the warp."),
    ("cuda.__shfl_up_sync", (4, 4), 1, "A value of a lower lane of the warp."),
    ("cuda.__shfl_down_sync", (4, 4), 1, "A value of a higher lane of the warp."),
    ("cuda.__shfl_xor_sync", (4, 4), 1, "A value of the lane at the index xor."),
    ("metal.simd_shuffle", (2, 2), 0, "A value of another lane of the SIMD group."),
    ("metal.simd_shuffle_up", (2, 2), 0, "A value of a lower lane of the SIMD group."),
    ("metal.simd_shuffle_down", (2, 2), 0, "A value of a higher lane of the SIMD group."),
    ("ptx_mma_sp", (16, 16), "first", "Multiply and add matrix fragments, one of them sparse."),
    ("ptx_cp_async_bulk", (6, 6), "first", "A copy into shared memory that goes on by itself, with a barrier."),
    ("ptx.cp_async_commit_group", (0, 0), "void", "The copies that were started become one group."),
    ("ptx.cp_async_wait_group", (1, 1), "void", "Wait until at most so many groups of copies go on."),
    ("ptx_cp_async_barrier", (1, 1), "void", "The barrier is told when the copies before it are done."),
    ("ptx_init_barrier_thread_count", (2, 2), "void", "A barrier is made ready for a number of threads."),
    ("ptx_arrive_barrier", (1, 1), "void", "The thread is at the barrier."),
    ("ptx_arrive_barrier_expect_tx", (2, 2), "void", "The thread is at the barrier, and bytes are to come."),
    ("ptx_wait_barrier", (1, 1), "void", "Wait for the others at the barrier."),
    ("create_barriers", (1, 1), "void", "Barriers in shared memory."),
):
    _foreign(_name, _arity, _result, _doc)
for _name, _arity, _default, _doc in (
    ("s_tir.cp_async_raw", (5, 7), "handle", "A copy into shared memory that goes on by itself."),
    ("ptx_legacy.mma", (13, 14), "void", "Multiply and add matrix fragments."),
    ("ptx_legacy.ldmatrix", (7, 7), "int8", "Load matrix fragments from shared memory."),
    ("cuda.mma_fill_legacy", (3, 3), "void", "Fill a matrix fragment with zeros."),
    ("cuda.mma_store_legacy", (6, 6), "void", "Store a matrix fragment."),
    ("tvm_mfma", (12, 12), "void", "Multiply and add matrix fragments of AMD's matrix cores."),
    ("tvm_mfma_store", (6, 6), "void", "Store a matrix fragment of AMD's matrix cores."),
    ("tvm_rdna_wmma", (12, 12), "void", "Multiply and add matrix fragments of AMD's RDNA."),
    ("tvm_rdna_wmma_store", (6, 6), "void", "Store a matrix fragment of AMD's RDNA."),
):
    _foreign(_name, _arity, "first", _doc, default=_default)


def _call_ffi_kernel(*args: Any, launch_params: Any, ret_ty: Any = "int32") -> Expr:
    """A call whose last argument has the names of the values before it: the threads that they are the extents of."""
    if not args or not isinstance(args[0], (str, StringImm)):
        raise fail("T104", "`T.call_ffi_kernel` takes the kernel's name as a string")
    tags: list[Any] = [*launch_params] if isinstance(launch_params, (tuple, list)) else [None]
    if not all(isinstance(tag, str) and tag and "," not in tag for tag in tags):
        raise fail("T104", "`launch_params` of `T.call_ffi_kernel` is a list of names", 'launch_params=["threadIdx.x"]')
    return _call(FOREIGN["call_ffi_kernel"], "last", [*args, ", ".join(tags), ret_ty])


FOREIGN["call_ffi_kernel"] = Op(
    "call_ffi_kernel",
    (1, _MANY),
    ANY,
    "The launch of a compiled GPU kernel: its name, its arguments, and the values that `launch_params` names.",
    make=_call_ffi_kernel,
    effect="opaque",
)
