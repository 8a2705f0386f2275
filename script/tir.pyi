"""The tensor language: operators, dtypes, loops, blocks and buffers.

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

__all__ = [
    "Add",
    "And",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Broadcast",
    "Buffer",
    "Cast",
    "Div",
    "EQ",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "GE",
    "GT",
    "IntImm",
    "LE",
    "LShift",
    "LT",
    "Let",
    "LetStmt",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "NE",
    "Not",
    "Or",
    "RShift",
    "Ramp",
    "Range",
    "Reduce",
    "Select",
    "Shuffle",
    "Sub",
    "TVMBackendAllocWorkspace",
    "TVMBackendFreeWorkspace",
    "abs",
    "acos",
    "acosh",
    "add",
    "address_of",
    "alloc_buffer",
    "alloc_local",
    "alloc_scalar",
    "alloc_shared",
    "allocate",
    "allocate_const",
    "anylist_getitem",
    "anylist_resetitem",
    "anylist_setitem_call_cpacked",
    "anylist_setitem_call_packed",
    "asin",
    "asinh",
    "assume",
    "atan",
    "atan2",
    "atanh",
    "atomic_add",
    "attr",
    "axis",
    "bfloat16",
    "bfloat16x16",
    "bfloat16x2",
    "bfloat16x32",
    "bfloat16x4",
    "bfloat16x64",
    "bfloat16x8",
    "bfloat16xvscalex16",
    "bfloat16xvscalex2",
    "bfloat16xvscalex32",
    "bfloat16xvscalex4",
    "bfloat16xvscalex64",
    "bfloat16xvscalex8",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "block",
    "block_attr",
    "bool",
    "boolx16",
    "boolx2",
    "boolx32",
    "boolx4",
    "boolx64",
    "boolx8",
    "boolxvscalex16",
    "boolxvscalex2",
    "boolxvscalex32",
    "boolxvscalex4",
    "boolxvscalex64",
    "boolxvscalex8",
    "break_loop",
    "breakpoint",
    "broadcast",
    "buffer_offset",
    "call_cpacked",
    "call_cpacked_lowered",
    "call_extern",
    "call_ffi_kernel",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_packed",
    "call_packed_lowered",
    "call_pure_extern",
    "call_spirv_pure_glsl450",
    "cast",
    "ceil",
    "ceildiv",
    "clz",
    "comm_reducer",
    "constant",
    "continue_loop",
    "copysign",
    "cos",
    "cosh",
    "create_barriers",
    "cuda",
    "custom_op",
    "decl_buffer",
    "decl_scalar",
    "div",
    "dma_copy",
    "dma_end_group",
    "dma_start_group",
    "dma_wait",
    "dp4a",
    "end_profile_intrinsic",
    "env_thread",
    "equal",
    "erf",
    "evaluate",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "float16",
    "float16x16",
    "float16x2",
    "float16x32",
    "float16x4",
    "float16x64",
    "float16x8",
    "float16xvscalex16",
    "float16xvscalex2",
    "float16xvscalex32",
    "float16xvscalex4",
    "float16xvscalex64",
    "float16xvscalex8",
    "float32",
    "float32x16",
    "float32x2",
    "float32x32",
    "float32x4",
    "float32x64",
    "float32x8",
    "float32xvscalex16",
    "float32xvscalex2",
    "float32xvscalex32",
    "float32xvscalex4",
    "float32xvscalex64",
    "float32xvscalex8",
    "float64",
    "float64x16",
    "float64x2",
    "float64x32",
    "float64x4",
    "float64x64",
    "float64x8",
    "float64xvscalex16",
    "float64xvscalex2",
    "float64xvscalex32",
    "float64xvscalex4",
    "float64xvscalex64",
    "float64xvscalex8",
    "float8_e4m3fn",
    "float8_e4m3fnx16",
    "float8_e4m3fnx2",
    "float8_e4m3fnx32",
    "float8_e4m3fnx4",
    "float8_e4m3fnx64",
    "float8_e4m3fnx8",
    "float8_e4m3fnxvscalex16",
    "float8_e4m3fnxvscalex2",
    "float8_e4m3fnxvscalex32",
    "float8_e4m3fnxvscalex4",
    "float8_e4m3fnxvscalex64",
    "float8_e4m3fnxvscalex8",
    "float8_e5m2",
    "float8_e5m2x16",
    "float8_e5m2x2",
    "float8_e5m2x32",
    "float8_e5m2x4",
    "float8_e5m2x64",
    "float8_e5m2x8",
    "float8_e5m2xvscalex16",
    "float8_e5m2xvscalex2",
    "float8_e5m2xvscalex32",
    "float8_e5m2xvscalex4",
    "float8_e5m2xvscalex64",
    "float8_e5m2xvscalex8",
    "floor",
    "floor_divide",
    "floordiv",
    "floormod",
    "fma",
    "fmod",
    "func_attr",
    "get_active_lane_mask",
    "greater",
    "greater_equal",
    "grid",
    "handle",
    "handle_add_byte_offset",
    "hypot",
    "if_then_else",
    "ignore_loop_partition",
    "index_map",
    "infinity",
    "init",
    "inline",
    "int16",
    "int16x16",
    "int16x2",
    "int16x32",
    "int16x4",
    "int16x64",
    "int16x8",
    "int16xvscalex16",
    "int16xvscalex2",
    "int16xvscalex32",
    "int16xvscalex4",
    "int16xvscalex64",
    "int16xvscalex8",
    "int32",
    "int32x16",
    "int32x2",
    "int32x32",
    "int32x4",
    "int32x64",
    "int32x8",
    "int32xvscalex16",
    "int32xvscalex2",
    "int32xvscalex32",
    "int32xvscalex4",
    "int32xvscalex64",
    "int32xvscalex8",
    "int64",
    "int64x16",
    "int64x2",
    "int64x32",
    "int64x4",
    "int64x64",
    "int64x8",
    "int64xvscalex16",
    "int64xvscalex2",
    "int64xvscalex32",
    "int64xvscalex4",
    "int64xvscalex64",
    "int64xvscalex8",
    "int8",
    "int8x16",
    "int8x2",
    "int8x32",
    "int8x4",
    "int8x64",
    "int8x8",
    "int8xvscalex16",
    "int8xvscalex2",
    "int8xvscalex32",
    "int8xvscalex4",
    "int8xvscalex64",
    "int8xvscalex8",
    "isfinite",
    "isinf",
    "isnan",
    "isnullptr",
    "iter_var",
    "launch_thread",
    "ldexp",
    "less",
    "less_equal",
    "let",
    "likely",
    "local_scalar",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "lookup_param",
    "macro",
    "match_buffer",
    "max",
    "max_value",
    "maximum",
    "meta_var",
    "metal",
    "min",
    "min_value",
    "minimum",
    "mul",
    "multiply",
    "nd_mem_alloc_with_scope",
    "nearbyint",
    "negative",
    "nextafter",
    "not_equal",
    "parallel",
    "popcount",
    "pow",
    "power",
    "prefetch",
    "prim_func",
    "print",
    "print_buffer",
    "ptr_byte_offset",
    "ptx",
    "ptx_arrive_barrier",
    "ptx_arrive_barrier_expect_tx",
    "ptx_cp_async_barrier",
    "ptx_cp_async_bulk",
    "ptx_init_barrier_thread_count",
    "ptx_legacy",
    "ptx_mma_sp",
    "ptx_wait_barrier",
    "q_multiply_shift",
    "q_multiply_shift_per_axis",
    "ramp",
    "reads",
    "reduce",
    "reinterpret",
    "ret",
    "round",
    "rsqrt",
    "s_tir",
    "sblock",
    "sblock_alloc_buffer",
    "sblock_attr",
    "select",
    "serial",
    "shared_scalar",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "start_profile_intrinsic",
    "static_assert",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "target",
    "texture2d_load",
    "texture2d_store",
    "thread_binding",
    "thread_return",
    "trunc",
    "truncdiv",
    "truncmod",
    "tvm_access_ptr",
    "tvm_bmma_sync",
    "tvm_call_cpacked",
    "tvm_call_cpacked_lowered",
    "tvm_call_packed_lowered",
    "tvm_call_trace_packed",
    "tvm_call_trace_packed_lowered",
    "tvm_check_return",
    "tvm_context_id",
    "tvm_fill_fragment",
    "tvm_global_barrier_kinit",
    "tvm_kernel_replace_point",
    "tvm_load_matrix_sync",
    "tvm_mfma",
    "tvm_mfma_store",
    "tvm_mma_sync",
    "tvm_rdna_wmma",
    "tvm_rdna_wmma_store",
    "tvm_stack_alloca",
    "tvm_stack_make_array",
    "tvm_stack_make_shape",
    "tvm_static_handle",
    "tvm_storage_sync",
    "tvm_store_matrix_sync",
    "tvm_struct_get",
    "tvm_struct_set",
    "tvm_thread_allreduce",
    "tvm_thread_context",
    "tvm_thread_invariant",
    "tvm_throw_last_error",
    "tvm_tuple",
    "tvm_warp_activemask",
    "tvm_warp_shuffle",
    "tvm_warp_shuffle_down",
    "tvm_warp_shuffle_up",
    "tvm_warp_shuffle_xor",
    "type_annotation",
    "uint16",
    "uint16x16",
    "uint16x2",
    "uint16x32",
    "uint16x4",
    "uint16x64",
    "uint16x8",
    "uint16xvscalex16",
    "uint16xvscalex2",
    "uint16xvscalex32",
    "uint16xvscalex4",
    "uint16xvscalex64",
    "uint16xvscalex8",
    "uint32",
    "uint32x16",
    "uint32x2",
    "uint32x32",
    "uint32x4",
    "uint32x64",
    "uint32x8",
    "uint32xvscalex16",
    "uint32xvscalex2",
    "uint32xvscalex32",
    "uint32xvscalex4",
    "uint32xvscalex64",
    "uint32xvscalex8",
    "uint64",
    "uint64x16",
    "uint64x2",
    "uint64x32",
    "uint64x4",
    "uint64x64",
    "uint64x8",
    "uint64xvscalex16",
    "uint64xvscalex2",
    "uint64xvscalex32",
    "uint64xvscalex4",
    "uint64xvscalex64",
    "uint64xvscalex8",
    "uint8",
    "uint8x16",
    "uint8x2",
    "uint8x32",
    "uint8x4",
    "uint8x64",
    "uint8x8",
    "uint8xvscalex16",
    "uint8xvscalex2",
    "uint8xvscalex32",
    "uint8xvscalex4",
    "uint8xvscalex64",
    "uint8xvscalex8",
    "undef",
    "unroll",
    "var",
    "vectorcombine",
    "vectorhigh",
    "vectorized",
    "vectorlow",
    "void",
    "vscale",
    "webgpu",
    "where",
    "writes",
]

def Add(a: Any, b: Any) -> Expr:
    """Sum; integers wrap."""

def And(a: Any, b: Any) -> Expr:
    """Both; the second is evaluated where the first is true."""

def BitwiseAnd(x: Any, y: Any) -> Expr:
    """Bits set in both."""

def BitwiseNot(x: Any) -> Expr:
    """Every bit changed."""

def BitwiseOr(x: Any, y: Any) -> Expr:
    """Bits set in either."""

def BitwiseXor(x: Any, y: Any) -> Expr:
    """Bits set in one."""

def Broadcast(value: Any, lanes: Any) -> Expr:
    """a vector with one value in every lane: `T.broadcast(value, lanes)`"""

Buffer: BufferForm
"""`T.Buffer(shape, dtype)`, or the older `T.Buffer[shape, dtype]`."""

def Cast(dtype: Any, value: Any) -> Expr:
    """`T.Cast("int64", x)`: the dtype stands first; a cast, too, where x has that dtype."""

def Div(a: Any, b: Any) -> Expr:
    """`T.Div(a, b)`: their node divides integers rounding toward zero."""

def EQ(a: Any, b: Any) -> Expr:
    """Whether the values are equal (nan to nothing)."""

def FloatImm(dtype: Any, value: Any) -> Expr:
    """`T.IntImm("int64", 3)`: a literal of a dtype."""

def FloorDiv(a: Any, b: Any) -> Expr:
    """Quotient rounded down."""

def FloorMod(a: Any, b: Any) -> Expr:
    """Remainder with the divisor's sign."""

def GE(a: Any, b: Any) -> Expr:
    """a above or equal to b."""

def GT(a: Any, b: Any) -> Expr:
    """a above b."""

def IntImm(dtype: Any, value: Any) -> Expr:
    """`T.IntImm("int64", 3)`: a literal of a dtype."""

def LE(a: Any, b: Any) -> Expr:
    """a below or equal to b."""

def LShift(x: Any, y: Any) -> Expr:
    """Bits moved up; 0 where moved by the width or more."""

def LT(a: Any, b: Any) -> Expr:
    """a below b."""

def Let(expr: Any, where: dict[Var, Any]) -> Expr:
    """TVM's binding in an expression: `T.Let(body, where={x: value})`"""

LetStmt: LetForm
"""a binding in an expression: `T.let("x", value, lambda x: body)`; as an annotation, an immutable binding"""

def Max(a: Any, b: Any) -> Expr:
    """`a if a > b else b`."""

def Min(a: Any, b: Any) -> Expr:
    """`a if a < b else b`."""

def Mod(a: Any, b: Any) -> Expr:
    """Remainder of truncdiv, with the dividend's sign; of floats fmod."""

def Mul(a: Any, b: Any) -> Expr:
    """Product; integers wrap."""

def NE(a: Any, b: Any) -> Expr:
    """Whether the values differ."""

def Not(a: Any) -> Expr:
    """The opposite."""

def Or(a: Any, b: Any) -> Expr:
    """Either; the second is evaluated where the first is false."""

def RShift(x: Any, y: Any) -> Expr:
    """Bits moved down, the sign copied; 0 or -1 where moved by the width or more."""

def Ramp(base: Any, stride: Any, lanes: Any) -> Expr:
    """a vector base, base + stride, ...: `T.ramp(base, stride, lanes)`"""

def Range(begin: Any, end: Any) -> Any:
    """the values of an axis: `T.Range(0, 16)`"""

def Reduce(
    combiner: CommReducer, source: Any, axes: Any = (), condition: Any = True, value_index: int = 0, init: Any = ()
) -> Expr:
    """values combined over axes: `T.Reduce(combiner, lambda k: [A[k]], [16])`"""

def Select(condition: Any, true_value: Any, false_value: Any) -> Expr:
    """`true_value` if `condition`, else `false_value`; both sides are evaluated."""

def Shuffle(vectors: Any, indices: Any) -> Expr:
    """lanes of vectors put together anew: `T.Shuffle([a, b], [1, 0])`"""

def Sub(a: Any, b: Any) -> Expr:
    """Difference; integers wrap."""

def TVMBackendAllocWorkspace(a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
    """Memory of the runtime."""

def TVMBackendFreeWorkspace(a: Any, b: Any, c: Any, /) -> Expr:
    """Memory of the runtime is given back."""

def abs(x: Any) -> Expr:
    """The value without its sign; the least integer wraps."""

def acos(x: Any) -> Expr:
    """Inverse cosine."""

def acosh(x: Any) -> Expr:
    """Inverse hyperbolic cosine."""

def add(a: Any, b: Any) -> Expr:
    """Sum; integers wrap."""

def address_of(obj: Any) -> Expr:
    """The address of an element."""

def alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    axis_separators: Any = (),
    annotations: dict[str, Any] | None = None,
) -> Any:
    """memory of the function or block: `A = T.alloc_buffer(shape, dtype, scope=)`"""

def alloc_local(shape: Any, dtype: Any = "float32", *args: Any, **kwargs: Any) -> Any:
    """memory of scope "local"; `T.alloc_buffer(..., scope="local")` of ours"""

def alloc_scalar(dtype: Any = "float32", scope: str = "local") -> Any:
    """a mutable scalar; `x: T.float32` of ours"""

def alloc_shared(shape: Any, dtype: Any = "float32", *args: Any, **kwargs: Any) -> Any:
    """memory of scope "shared"; `T.alloc_buffer(..., scope="shared")` of ours"""

def allocate(extents: Any, dtype: Any, scope: str = "global", *args: Any, **kwargs: Any) -> Any:
    """memory; `T.alloc_buffer` of ours"""

def allocate_const(
    data: Any, dtype: Any, shape: Any, annotations: Any = None, scope: str = "global", align: int = 0
) -> Any:
    """memory that holds constants: `K = T.allocate_const([1, 2, 3, 4], "int32", (4,))`"""

def anylist_getitem(a: Any, b: Any, /) -> Expr:
    """An item of the virtual machine's list."""

def anylist_resetitem(a: Any, b: Any, /) -> Expr:
    """An item of the virtual machine's list is dropped."""

def anylist_setitem_call_cpacked(a: Any, b: Any, c: Any, *args: Any) -> Expr:
    """A C packed call whose result goes into the list."""

def anylist_setitem_call_packed(a: Any, b: Any, c: Any, *args: Any) -> Expr:
    """A packed call whose result goes into the list."""

def asin(x: Any) -> Expr:
    """Inverse sine."""

def asinh(x: Any) -> Expr:
    """Inverse hyperbolic sine."""

def assume(condition: Any, /) -> None:
    """a condition that is trusted: `T.assume(cond)`"""

def atan(x: Any) -> Expr:
    """Inverse tangent."""

def atan2(x1: Any, x2: Any) -> Expr:
    """The angle of the point (x2, x1)."""

def atanh(x: Any) -> Expr:
    """Inverse hyperbolic tangent."""

def atomic_add(a: Any, b: Any, /) -> Expr:
    """A value is added in memory at once; the one before it."""

def attr(node: Any, key: str, value: Any) -> AbstractContextManager[None]:
    """an attribute around statements: `with T.attr(node, key, value):`"""

class _Axis:
    """Block axes."""

    def R(self, dom: Any, value: Any) -> Var:
        """an axis over which a block combines values: `vk = T.axis.reduce(128, k)`"""
    def S(self, dom: Any, value: Any) -> Var:
        """an axis of a block, whose iterations may run in any order: `vi = T.axis.spatial(128, i)`"""
    def opaque(self, dom: Any, value: Any) -> Var:
        """an axis of which nothing is promised: `vi = T.axis.opaque(128, i)`"""
    def reduce(self, dom: Any, value: Any) -> Var:
        """an axis over which a block combines values: `vk = T.axis.reduce(128, k)`"""
    def remap(self, kinds: str, bindings: Any) -> Any:
        """several axes, S for spatial and R for reduce: `vi, vk = T.axis.remap("SR", [i, k])`"""
    def scan(self, dom: Any, value: Any) -> Var:
        """an axis whose iterations use those before: `vt = T.axis.scan(128, t)`"""
    def spatial(self, dom: Any, value: Any) -> Var:
        """an axis of a block, whose iterations may run in any order: `vi = T.axis.spatial(128, i)`"""

axis: _Axis

bfloat16: TypeName
"""The element type bfloat16."""

bfloat16x16: TypeName
"""The element type bfloat16x16."""

bfloat16x2: TypeName
"""The element type bfloat16x2."""

bfloat16x32: TypeName
"""The element type bfloat16x32."""

bfloat16x4: TypeName
"""The element type bfloat16x4."""

bfloat16x64: TypeName
"""The element type bfloat16x64."""

bfloat16x8: TypeName
"""The element type bfloat16x8."""

bfloat16xvscalex16: TypeName
"""The element type bfloat16xvscalex16."""

bfloat16xvscalex2: TypeName
"""The element type bfloat16xvscalex2."""

bfloat16xvscalex32: TypeName
"""The element type bfloat16xvscalex32."""

bfloat16xvscalex4: TypeName
"""The element type bfloat16xvscalex4."""

bfloat16xvscalex64: TypeName
"""The element type bfloat16xvscalex64."""

bfloat16xvscalex8: TypeName
"""The element type bfloat16xvscalex8."""

def bitwise_and(x: Any, y: Any) -> Expr:
    """Bits set in both."""

def bitwise_invert(x: Any) -> Expr:
    """Every bit changed."""

def bitwise_not(x: Any) -> Expr:
    """Every bit changed."""

def bitwise_or(x: Any, y: Any) -> Expr:
    """Bits set in either."""

def bitwise_xor(x: Any, y: Any) -> Expr:
    """Bits set in one."""

def block(name: str = "", /) -> AbstractContextManager[None]:
    """the unit that schedules move: `with T.block("name"):`"""

def block_attr(attributes: dict[str, Any] | str, value: Any = None, /) -> None:
    """attributes of the block: `T.block_attr({...})` or `T.block_attr("key", value)`"""

bool: TypeName
"""The element type bool."""

boolx16: TypeName
"""The element type boolx16."""

boolx2: TypeName
"""The element type boolx2."""

boolx32: TypeName
"""The element type boolx32."""

boolx4: TypeName
"""The element type boolx4."""

boolx64: TypeName
"""The element type boolx64."""

boolx8: TypeName
"""The element type boolx8."""

boolxvscalex16: TypeName
"""The element type boolxvscalex16."""

boolxvscalex2: TypeName
"""The element type boolxvscalex2."""

boolxvscalex32: TypeName
"""The element type boolxvscalex32."""

boolxvscalex4: TypeName
"""The element type boolxvscalex4."""

boolxvscalex64: TypeName
"""The element type boolxvscalex64."""

boolxvscalex8: TypeName
"""The element type boolxvscalex8."""

def break_loop() -> Any:
    """`break`"""

def breakpoint() -> Expr:
    """Stop in the debugger; the interpreter only."""

def broadcast(value: Any, lanes: Any) -> Expr:
    """a vector with one value in every lane: `T.broadcast(value, lanes)`"""

def buffer_offset(x: Any, /) -> Expr:
    """How far an element is from the beginning of its memory."""

def call_cpacked(a: Any, *args: Any) -> Expr:
    """A packed function by C symbol."""

def call_cpacked_lowered(a: Any, *args: Any) -> Expr:
    """A C packed call with its stack laid out."""

def call_extern(to: Any, name: Any, *args: Any) -> Expr:
    """A C function by symbol: dtype, name, arguments."""

def call_ffi_kernel(*args: Any, launch_params: Any, ret_ty: Any) -> Expr:
    """The launch of a compiled GPU kernel: its name, its arguments, and the values that `launch_params` names."""

def call_llvm_intrin(to: Any, name: Any, *args: Any) -> Expr:
    """An LLVM intrinsic by name: dtype, name, arguments."""

def call_llvm_pure_intrin(to: Any, name: Any, *args: Any) -> Expr:
    """An LLVM intrinsic without side effects."""

def call_packed(name: Any, *args: Any) -> Expr:
    """A registered Python function by name: name, arguments."""

def call_packed_lowered(a: Any, *args: Any) -> Expr:
    """A packed call with its stack laid out."""

def call_pure_extern(to: Any, name: Any, *args: Any) -> Expr:
    """A C function without side effects."""

def call_spirv_pure_glsl450(a: Any, b: Any, *args: Any) -> Expr:
    """A function of GLSL's, by its number."""

def cast(value: Any, dtype: Any) -> Expr:
    """x converted to a dtype; floats to integers truncate toward zero."""

def ceil(x: Any) -> Expr:
    """Rounded up."""

def ceildiv(lhs: Any, rhs: Any) -> Expr:
    """Quotient rounded up."""

def clz(x: Any) -> Expr:
    """The number of leading zero bits; the width for 0."""

def comm_reducer(combiner: Callable[..., Any], identity: Any) -> CommReducer:
    """how partial results are combined: `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`"""

def constant(
    digest: str,
    shape: Any,
    dtype: Any,
    *,
    base64: str = "",
    file: str = "",
    annotations: Any = None,
    scope: str = "global",
    align: int = 0,
) -> Any:
    """constants by their digest: `K = T.constant("sha256:…", (64, 64), "float32")`"""

def continue_loop() -> Any:
    """`continue`"""

def copysign(x1: Any, x2: Any) -> Expr:
    """x1 with the sign of x2."""

def cos(x: Any) -> Expr:
    """Cosine of radians."""

def cosh(x: Any) -> Expr:
    """Hyperbolic cosine."""

def create_barriers(x: Any, /) -> Expr:
    """Barriers in shared memory."""

class _Cuda:
    """Intrinsics of other machines."""

    def mma_fill_legacy(self, dtype: Any, a: Any, b: Any, c: Any, /) -> Expr:
        """Fill a matrix fragment with zeros."""
    def mma_store_legacy(self, dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, /) -> Expr:
        """Store a matrix fragment."""

cuda: _Cuda

class _CustomOp:
    """Intrinsics of other machines."""

    def ignore_second_argument(self, a: Any, b: Any, /) -> Expr:
        """An operator that a TVM extension defines: its first argument."""
    def matmul_bias_add(self, a: Any, b: Any, c: Any, *args: Any) -> Expr:
        """An operator that a TVM extension defines."""

custom_op: _CustomOp

def decl_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    axis_separators: Any = (),
) -> Any:
    """another view of memory: `B = T.decl_buffer(shape, dtype, data=A.data)`"""

def decl_scalar(dtype: Any, data: Any, scope: str = "global", elem_offset: Any = 0) -> Any:
    """a name for one element of memory; `T.decl_buffer((1,), data=)` of ours"""

def div(a: Any, b: Any) -> Expr:
    """Quotient of floats."""

def dma_copy(a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
    """A copy by the machine's engine."""

def dma_end_group() -> Expr:
    """A group of copies ends."""

def dma_start_group(x: Any, /) -> Expr:
    """A group of copies starts."""

def dma_wait(a: Any, b: Any, /) -> Expr:
    """Wait for copies of a queue."""

def dp4a(dtype: Any, a: Any, b: Any, c: Any, /) -> Expr:
    """The products of four small integers each, added up."""

def end_profile_intrinsic(x: Any, /) -> Expr:
    """The end of a profiled stretch."""

def env_thread(thread: str, dtype: Any = None) -> Any:
    """a thread that several statements launch: `bx = T.env_thread("blockIdx.x")`"""

def equal(a: Any, b: Any) -> Expr:
    """Whether the values are equal (nan to nothing)."""

def erf(x: Any) -> Expr:
    """The error function."""

def evaluate(value: Any, /) -> None:
    """a call for its effect: `T.evaluate(call)`"""

def exp(x: Any) -> Expr:
    """e raised to x."""

def exp10(x: Any) -> Expr:
    """10 raised to x."""

def exp2(x: Any) -> Expr:
    """2 raised to x."""

def expm1(x: Any) -> Expr:
    """exp(x) - 1, exact near zero."""

def fabs(x: Any) -> Expr:
    """The value without its sign; the least integer wraps."""

float16: TypeName
"""The element type float16."""

float16x16: TypeName
"""The element type float16x16."""

float16x2: TypeName
"""The element type float16x2."""

float16x32: TypeName
"""The element type float16x32."""

float16x4: TypeName
"""The element type float16x4."""

float16x64: TypeName
"""The element type float16x64."""

float16x8: TypeName
"""The element type float16x8."""

float16xvscalex16: TypeName
"""The element type float16xvscalex16."""

float16xvscalex2: TypeName
"""The element type float16xvscalex2."""

float16xvscalex32: TypeName
"""The element type float16xvscalex32."""

float16xvscalex4: TypeName
"""The element type float16xvscalex4."""

float16xvscalex64: TypeName
"""The element type float16xvscalex64."""

float16xvscalex8: TypeName
"""The element type float16xvscalex8."""

float32: TypeName
"""The element type float32."""

float32x16: TypeName
"""The element type float32x16."""

float32x2: TypeName
"""The element type float32x2."""

float32x32: TypeName
"""The element type float32x32."""

float32x4: TypeName
"""The element type float32x4."""

float32x64: TypeName
"""The element type float32x64."""

float32x8: TypeName
"""The element type float32x8."""

float32xvscalex16: TypeName
"""The element type float32xvscalex16."""

float32xvscalex2: TypeName
"""The element type float32xvscalex2."""

float32xvscalex32: TypeName
"""The element type float32xvscalex32."""

float32xvscalex4: TypeName
"""The element type float32xvscalex4."""

float32xvscalex64: TypeName
"""The element type float32xvscalex64."""

float32xvscalex8: TypeName
"""The element type float32xvscalex8."""

float64: TypeName
"""The element type float64."""

float64x16: TypeName
"""The element type float64x16."""

float64x2: TypeName
"""The element type float64x2."""

float64x32: TypeName
"""The element type float64x32."""

float64x4: TypeName
"""The element type float64x4."""

float64x64: TypeName
"""The element type float64x64."""

float64x8: TypeName
"""The element type float64x8."""

float64xvscalex16: TypeName
"""The element type float64xvscalex16."""

float64xvscalex2: TypeName
"""The element type float64xvscalex2."""

float64xvscalex32: TypeName
"""The element type float64xvscalex32."""

float64xvscalex4: TypeName
"""The element type float64xvscalex4."""

float64xvscalex64: TypeName
"""The element type float64xvscalex64."""

float64xvscalex8: TypeName
"""The element type float64xvscalex8."""

float8_e4m3fn: TypeName
"""The element type float8_e4m3fn."""

float8_e4m3fnx16: TypeName
"""The element type float8_e4m3fnx16."""

float8_e4m3fnx2: TypeName
"""The element type float8_e4m3fnx2."""

float8_e4m3fnx32: TypeName
"""The element type float8_e4m3fnx32."""

float8_e4m3fnx4: TypeName
"""The element type float8_e4m3fnx4."""

float8_e4m3fnx64: TypeName
"""The element type float8_e4m3fnx64."""

float8_e4m3fnx8: TypeName
"""The element type float8_e4m3fnx8."""

float8_e4m3fnxvscalex16: TypeName
"""The element type float8_e4m3fnxvscalex16."""

float8_e4m3fnxvscalex2: TypeName
"""The element type float8_e4m3fnxvscalex2."""

float8_e4m3fnxvscalex32: TypeName
"""The element type float8_e4m3fnxvscalex32."""

float8_e4m3fnxvscalex4: TypeName
"""The element type float8_e4m3fnxvscalex4."""

float8_e4m3fnxvscalex64: TypeName
"""The element type float8_e4m3fnxvscalex64."""

float8_e4m3fnxvscalex8: TypeName
"""The element type float8_e4m3fnxvscalex8."""

float8_e5m2: TypeName
"""The element type float8_e5m2."""

float8_e5m2x16: TypeName
"""The element type float8_e5m2x16."""

float8_e5m2x2: TypeName
"""The element type float8_e5m2x2."""

float8_e5m2x32: TypeName
"""The element type float8_e5m2x32."""

float8_e5m2x4: TypeName
"""The element type float8_e5m2x4."""

float8_e5m2x64: TypeName
"""The element type float8_e5m2x64."""

float8_e5m2x8: TypeName
"""The element type float8_e5m2x8."""

float8_e5m2xvscalex16: TypeName
"""The element type float8_e5m2xvscalex16."""

float8_e5m2xvscalex2: TypeName
"""The element type float8_e5m2xvscalex2."""

float8_e5m2xvscalex32: TypeName
"""The element type float8_e5m2xvscalex32."""

float8_e5m2xvscalex4: TypeName
"""The element type float8_e5m2xvscalex4."""

float8_e5m2xvscalex64: TypeName
"""The element type float8_e5m2xvscalex64."""

float8_e5m2xvscalex8: TypeName
"""The element type float8_e5m2xvscalex8."""

def floor(x: Any) -> Expr:
    """Rounded down."""

def floor_divide(a: Any, b: Any) -> Expr:
    """Quotient rounded down."""

def floordiv(a: Any, b: Any) -> Expr:
    """Quotient rounded down."""

def floormod(a: Any, b: Any) -> Expr:
    """Remainder with the divisor's sign."""

def fma(x: Any, y: Any, z: Any) -> Expr:
    """x * y + z, rounded once."""

def fmod(x: Any, y: Any) -> Expr:
    """Remainder with the dividend's sign."""

def func_attr(attributes: dict[str, Any], /) -> None:
    """attributes of the function: `T.func_attr({...})`"""

def get_active_lane_mask(dtype: Any, a: Any, b: Any, /) -> Expr:
    """The lanes whose index is below a limit."""

def greater(a: Any, b: Any) -> Expr:
    """a above b."""

def greater_equal(a: Any, b: Any) -> Expr:
    """a above or equal to b."""

def grid(*extents: Any) -> Iterator[tuple[Var, ...]]:
    """nested loops: `for i, j in T.grid(4, 4)`"""

handle: TypeName
"""The element type handle."""

def handle_add_byte_offset(a: Any, b: Any, /) -> Expr:
    """An address some bytes further."""

def hypot(x1: Any, x2: Any) -> Expr:
    """sqrt(x1*x1 + x2*x2) without overflow between."""

def if_then_else(cond: Any, t: Any, f: Any) -> Expr:
    """`t if cond else f`: only the taken side is evaluated."""

def ignore_loop_partition(x: Any, /) -> Expr:
    """A condition that does not split loops."""

def index_map(mapping: Callable[..., Any], inverse_index_map: Any = None, index_dtype: Any = "int64") -> IndexMap:
    """where elements are found: `T.index_map(lambda i, j: (j, i))`"""

def infinity(dtype: Any) -> Expr:
    """infinity of a dtype: `T.infinity("float32")`"""

def init() -> AbstractContextManager[None]:
    """what runs before a block's reduction: `with T.init():`"""

int16: TypeName
"""The element type int16."""

int16x16: TypeName
"""The element type int16x16."""

int16x2: TypeName
"""The element type int16x2."""

int16x32: TypeName
"""The element type int16x32."""

int16x4: TypeName
"""The element type int16x4."""

int16x64: TypeName
"""The element type int16x64."""

int16x8: TypeName
"""The element type int16x8."""

int16xvscalex16: TypeName
"""The element type int16xvscalex16."""

int16xvscalex2: TypeName
"""The element type int16xvscalex2."""

int16xvscalex32: TypeName
"""The element type int16xvscalex32."""

int16xvscalex4: TypeName
"""The element type int16xvscalex4."""

int16xvscalex64: TypeName
"""The element type int16xvscalex64."""

int16xvscalex8: TypeName
"""The element type int16xvscalex8."""

int32: TypeName
"""The element type int32."""

int32x16: TypeName
"""The element type int32x16."""

int32x2: TypeName
"""The element type int32x2."""

int32x32: TypeName
"""The element type int32x32."""

int32x4: TypeName
"""The element type int32x4."""

int32x64: TypeName
"""The element type int32x64."""

int32x8: TypeName
"""The element type int32x8."""

int32xvscalex16: TypeName
"""The element type int32xvscalex16."""

int32xvscalex2: TypeName
"""The element type int32xvscalex2."""

int32xvscalex32: TypeName
"""The element type int32xvscalex32."""

int32xvscalex4: TypeName
"""The element type int32xvscalex4."""

int32xvscalex64: TypeName
"""The element type int32xvscalex64."""

int32xvscalex8: TypeName
"""The element type int32xvscalex8."""

int64: TypeName
"""The element type int64."""

int64x16: TypeName
"""The element type int64x16."""

int64x2: TypeName
"""The element type int64x2."""

int64x32: TypeName
"""The element type int64x32."""

int64x4: TypeName
"""The element type int64x4."""

int64x64: TypeName
"""The element type int64x64."""

int64x8: TypeName
"""The element type int64x8."""

int64xvscalex16: TypeName
"""The element type int64xvscalex16."""

int64xvscalex2: TypeName
"""The element type int64xvscalex2."""

int64xvscalex32: TypeName
"""The element type int64xvscalex32."""

int64xvscalex4: TypeName
"""The element type int64xvscalex4."""

int64xvscalex64: TypeName
"""The element type int64xvscalex64."""

int64xvscalex8: TypeName
"""The element type int64xvscalex8."""

int8: TypeName
"""The element type int8."""

int8x16: TypeName
"""The element type int8x16."""

int8x2: TypeName
"""The element type int8x2."""

int8x32: TypeName
"""The element type int8x32."""

int8x4: TypeName
"""The element type int8x4."""

int8x64: TypeName
"""The element type int8x64."""

int8x8: TypeName
"""The element type int8x8."""

int8xvscalex16: TypeName
"""The element type int8xvscalex16."""

int8xvscalex2: TypeName
"""The element type int8xvscalex2."""

int8xvscalex32: TypeName
"""The element type int8xvscalex32."""

int8xvscalex4: TypeName
"""The element type int8xvscalex4."""

int8xvscalex64: TypeName
"""The element type int8xvscalex64."""

int8xvscalex8: TypeName
"""The element type int8xvscalex8."""

def isfinite(x: Any) -> Expr:
    """Whether the value is neither infinite nor nan."""

def isinf(x: Any) -> Expr:
    """Whether the value is an infinity."""

def isnan(x: Any) -> Expr:
    """Whether the value is not a number."""

def isnullptr(x: Any) -> Expr:
    """Whether a handle is null."""

def iter_var(v: Any, dom: Any, iter_type: str = "", thread_tag: str = "") -> Any:
    """an axis of a reduction: `T.iter_var(k, T.Range(0, 16), "CommReduce", "")`"""

def launch_thread(thread: Any, extent: Any) -> AbstractContextManager[Var]:
    """the rest of the body by many threads at once: `with T.launch_thread("blockIdx.x", 64) as bx:`"""

def ldexp(x1: Any, x2: Any) -> Expr:
    """x1 times 2 raised to the integer x2."""

def less(a: Any, b: Any) -> Expr:
    """a below b."""

def less_equal(a: Any, b: Any) -> Expr:
    """a below or equal to b."""

let: LetForm
"""a binding in an expression: `T.let("x", value, lambda x: body)`; as an annotation, an immutable binding"""

def likely(cond: Any) -> Expr:
    """The condition, with the hint that it is mostly true."""

def local_scalar(dtype: Any = "float32") -> Any:
    """a mutable scalar; `x: T.float32` of ours"""

def log(x: Any) -> Expr:
    """Natural logarithm."""

def log10(x: Any) -> Expr:
    """Logarithm to base 10."""

def log1p(x: Any) -> Expr:
    """log(1 + x), exact near zero."""

def log2(x: Any) -> Expr:
    """Logarithm to base 2."""

def logical_and(a: Any, b: Any) -> Expr:
    """Both; the second is evaluated where the first is true."""

def logical_not(a: Any) -> Expr:
    """The opposite."""

def logical_or(a: Any, b: Any) -> Expr:
    """Either; the second is evaluated where the first is false."""

def lookup_param(x: Any, /) -> Expr:
    """A parameter of the model by name."""

def match_buffer(
    source: Any,
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    axis_separators: Any = (),
) -> Any:
    """a buffer over a handle or a region: `A = T.match_buffer(a, shape, dtype)`"""

def max(a: Any, b: Any) -> Expr:
    """`a if a > b else b`."""

def max_value(dtype: Any) -> Expr:
    """the greatest value of a dtype: `T.max_value("int32")`"""

def maximum(a: Any, b: Any) -> Expr:
    """`a if a > b else b`."""

def meta_var(value: Any, /) -> Any:
    """a value used while parsing: `x = T.meta_var(expr)`"""

class _Metal:
    """Intrinsics of other machines."""

    def make_filled_simdgroup_matrix(self, a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
        """Fill a matrix of a SIMD group."""
    def simd_shuffle(self, a: Any, b: Any, /) -> Expr:
        """A value of another lane of the SIMD group."""
    def simd_shuffle_down(self, a: Any, b: Any, /) -> Expr:
        """A value of a higher lane of the SIMD group."""
    def simd_shuffle_up(self, a: Any, b: Any, /) -> Expr:
        """A value of a lower lane of the SIMD group."""
    def simdgroup_load(self, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, /) -> Expr:
        """Load a matrix of a SIMD group."""
    def simdgroup_multiply_accumulate(self, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, /) -> Expr:
        """Multiply and add matrices of a SIMD group."""
    def simdgroup_store(self, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, /) -> Expr:
        """Store a matrix of a SIMD group."""

metal: _Metal

def min(a: Any, b: Any) -> Expr:
    """`a if a < b else b`."""

def min_value(dtype: Any) -> Expr:
    """the least value of a dtype: `T.min_value("int32")`"""

def minimum(a: Any, b: Any) -> Expr:
    """`a if a < b else b`."""

def mul(a: Any, b: Any) -> Expr:
    """Product; integers wrap."""

def multiply(a: Any, b: Any) -> Expr:
    """Product; integers wrap."""

def nd_mem_alloc_with_scope(a: Any, b: Any, c: Any, /) -> Expr:
    """Memory of a scope, in as many dimensions as its shape has."""

def nearbyint(x: Any) -> Expr:
    """Rounded to the nearest whole number, halves to even."""

def negative(x: Any) -> Expr:
    """The value with its sign changed; the least integer wraps."""

def nextafter(x1: Any, x2: Any) -> Expr:
    """The next value after x1 toward x2."""

def not_equal(a: Any, b: Any) -> Expr:
    """Whether the values differ."""

def parallel(
    start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None
) -> Iterator[Var]:
    """a loop whose iterations run at once"""

def popcount(x: Any) -> Expr:
    """The number of bits set."""

def pow(x: Any, y: Any) -> Expr:
    """x raised to y."""

def power(x: Any, y: Any) -> Expr:
    """x raised to y."""

def prefetch(address: Any, rw: Any, locality: Any, cache: Any) -> Expr:
    """Bring the memory at an address near: rw (1 to write it), locality (3 near to 0 far), cache (1 data, 0 code)."""

def print(*args: Any) -> Expr:
    """Print the values, strings as they are."""

def print_buffer(a: Any, b: Any, c: Any, d: Any, e: Any, *args: Any) -> Expr:
    """Print the elements of memory."""

def ptr_byte_offset(a: Any, b: Any, c: Any, /) -> Expr:
    """An address some bytes further, of another dtype."""

class _Ptx:
    """Intrinsics of other machines."""

    def cp_async_commit_group(self) -> Expr:
        """The copies that were started become one group."""
    def cp_async_wait_group(self, x: Any, /) -> Expr:
        """Wait until at most so many groups of copies go on."""

ptx: _Ptx

def ptx_arrive_barrier(x: Any, /) -> Expr:
    """The thread is at the barrier."""

def ptx_arrive_barrier_expect_tx(a: Any, b: Any, /) -> Expr:
    """The thread is at the barrier, and bytes are to come."""

def ptx_cp_async_barrier(x: Any, /) -> Expr:
    """The barrier is told when the copies before it are done."""

def ptx_cp_async_bulk(dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, /) -> Expr:
    """A copy into shared memory that goes on by itself, with a barrier."""

def ptx_init_barrier_thread_count(a: Any, b: Any, /) -> Expr:
    """A barrier is made ready for a number of threads."""

class _PtxLegacy:
    """Intrinsics of other machines."""

    def ldmatrix(self, dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, /) -> Expr:
        """Load matrix fragments from shared memory."""
    def mma(
        self,
        dtype: Any,
        a: Any,
        b: Any,
        c: Any,
        d: Any,
        e: Any,
        f: Any,
        g: Any,
        h: Any,
        i: Any,
        j: Any,
        k: Any,
        l: Any,
        m: Any,
        n: Any = ...,
        /,
    ) -> Expr:
        """Multiply and add matrix fragments."""

ptx_legacy: _PtxLegacy

def ptx_mma_sp(
    dtype: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    e: Any,
    f: Any,
    g: Any,
    h: Any,
    i: Any,
    j: Any,
    k: Any,
    l: Any,
    m: Any,
    n: Any,
    o: Any,
    p: Any,
    /,
) -> Expr:
    """Multiply and add matrix fragments, one of them sparse."""

def ptx_wait_barrier(x: Any, /) -> Expr:
    """Wait for the others at the barrier."""

def q_multiply_shift(a: Any, b: Any, c: Any, d: Any, /) -> Expr:
    """A fixed-point multiplication with a rounding shift."""

def q_multiply_shift_per_axis(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, /) -> Expr:
    """A fixed-point multiplication with shifts per axis."""

def ramp(base: Any, stride: Any, lanes: Any) -> Expr:
    """a vector base, base + stride, ...: `T.ramp(base, stride, lanes)`"""

def reads(*regions: Any) -> None:
    """the regions that the block reads: `T.reads(A[i, 0:4])`"""

def reduce(
    combiner: CommReducer, source: Any, axes: Any = (), condition: Any = True, value_index: int = 0, init: Any = ()
) -> Expr:
    """values combined over axes: `T.Reduce(combiner, lambda k: [A[k]], [16])`"""

def reinterpret(dtype: Any, value: Any) -> Expr:
    """The bits of x as another dtype of the same size."""

def ret(value: Any = None, /) -> Any:
    """`return value`"""

def round(x: Any) -> Expr:
    """Rounded to the nearest whole number, halves away from zero."""

def rsqrt(x: Any) -> Expr:
    """1 / sqrt(x)."""

class _STir:
    """Intrinsics of other machines."""

    def cp_async_raw(self, dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any = ..., g: Any = ..., /) -> Expr:
        """A copy into shared memory that goes on by itself."""
    def ldg32(self, a: Any, b: Any, c: Any, d: Any, /) -> Expr:
        """A load of 32 bits under a condition."""

s_tir: _STir

def sblock(name: str = "", /) -> AbstractContextManager[None]:
    """the unit that schedules move: `with T.block("name"):`"""

def sblock_alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    axis_separators: Any = (),
    annotations: dict[str, Any] | None = None,
) -> Any:
    """memory of the function or block: `A = T.alloc_buffer(shape, dtype, scope=)`"""

def sblock_attr(attributes: dict[str, Any] | str, value: Any = None, /) -> None:
    """attributes of the block: `T.block_attr({...})` or `T.block_attr("key", value)`"""

def select(condition: Any, true_value: Any, false_value: Any) -> Expr:
    """`true_value` if `condition`, else `false_value`; both sides are evaluated."""

def serial(
    start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None
) -> Iterator[Var]:
    """an ordinary loop: `for i in T.serial(n)`"""

def shared_scalar(dtype: Any = "float32") -> Any:
    """a scalar that threads share; `T.alloc_buffer((1,), scope="shared")` of ours"""

def shift_left(x: Any, y: Any) -> Expr:
    """Bits moved up; 0 where moved by the width or more."""

def shift_right(x: Any, y: Any) -> Expr:
    """Bits moved down, the sign copied; 0 or -1 where moved by the width or more."""

def sigmoid(x: Any) -> Expr:
    """1 / (1 + exp(-x))."""

def sin(x: Any) -> Expr:
    """Sine of radians."""

def sinh(x: Any) -> Expr:
    """Hyperbolic sine."""

def sqrt(x: Any) -> Expr:
    """Square root."""

def start_profile_intrinsic(x: Any, /) -> Expr:
    """The start of a profiled stretch."""

def static_assert(condition: Any, message: str = "", /) -> None:
    """a condition that must be proved when compiled: `T.static_assert(cond, msg)`"""

def sub(a: Any, b: Any) -> Expr:
    """Difference; integers wrap."""

def subtract(a: Any, b: Any) -> Expr:
    """Difference; integers wrap."""

def tan(x: Any) -> Expr:
    """Tangent of radians."""

def tanh(x: Any) -> Expr:
    """Hyperbolic tangent."""

def target(*args: Any, **kwargs: Any) -> Target:
    """a machine to build for: `T.target("llvm -mcpu=skylake")`"""

def texture2d_load(a: Any, b: Any, c: Any, *args: Any) -> Expr:
    """A load from a texture."""

def texture2d_store(a: Any, b: Any, c: Any, d: Any, *args: Any) -> Expr:
    """A store into a texture."""

def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: dict[str, Any] | None = None
) -> Iterator[Var]:
    """a loop over the threads of a GPU: `T.thread_binding(n, thread="threadIdx.x")`"""

def thread_return() -> Expr:
    """The thread ends."""

def trunc(x: Any) -> Expr:
    """Rounded toward zero."""

def truncdiv(a: Any, b: Any) -> Expr:
    """Quotient rounded toward zero."""

def truncmod(a: Any, b: Any) -> Expr:
    """Remainder of truncdiv, with the dividend's sign; of floats fmod."""

def tvm_access_ptr(a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
    """An address into a buffer, with what may be accessed there."""

def tvm_bmma_sync(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, /) -> Expr:
    """Multiply and add binary matrix fragments."""

def tvm_call_cpacked(a: Any, *args: Any) -> Expr:
    """A packed function by C symbol."""

def tvm_call_cpacked_lowered(a: Any, *args: Any) -> Expr:
    """A C packed call with its stack laid out."""

def tvm_call_packed_lowered(a: Any, b: Any, c: Any, d: Any, *args: Any) -> Expr:
    """A packed call with its stack laid out."""

def tvm_call_trace_packed(a: Any, *args: Any) -> Expr:
    """A packed call that is traced."""

def tvm_call_trace_packed_lowered(a: Any, b: Any, c: Any, d: Any, *args: Any) -> Expr:
    """A packed call that is traced, with its stack laid out."""

def tvm_check_return(a: Any, b: Any, c: Any, /) -> Expr:
    """A call that fails where it does not give the first argument."""

def tvm_context_id() -> Expr:
    """The context of the call."""

def tvm_fill_fragment(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, /) -> Expr:
    """Fill a matrix fragment."""

def tvm_global_barrier_kinit() -> Expr:
    """The barrier of all threads is made ready."""

def tvm_kernel_replace_point() -> Expr:
    """Where a kernel is put in place of this."""

def tvm_load_matrix_sync(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, /) -> Expr:
    """Load a matrix fragment."""

def tvm_mfma(
    dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any, j: Any, k: Any, l: Any, /
) -> Expr:
    """Multiply and add matrix fragments of AMD's matrix cores."""

def tvm_mfma_store(dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, /) -> Expr:
    """Store a matrix fragment of AMD's matrix cores."""

def tvm_mma_sync(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, /) -> Expr:
    """Multiply and add matrix fragments."""

def tvm_rdna_wmma(
    dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any, j: Any, k: Any, l: Any, /
) -> Expr:
    """Multiply and add matrix fragments of AMD's RDNA."""

def tvm_rdna_wmma_store(dtype: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, /) -> Expr:
    """Store a matrix fragment of AMD's RDNA."""

def tvm_stack_alloca(a: Any, b: Any, /) -> Expr:
    """Memory on the caller's stack."""

def tvm_stack_make_array(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, /) -> Expr:
    """An array descriptor on the stack."""

def tvm_stack_make_shape(*args: Any) -> Expr:
    """A shape on the stack."""

def tvm_static_handle() -> Expr:
    """A handle kept between calls."""

def tvm_storage_sync(a: Any, b: Any = ..., c: Any = ..., /) -> Expr:
    """A barrier of the threads that share a storage."""

def tvm_store_matrix_sync(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, /) -> Expr:
    """Store a matrix fragment."""

def tvm_struct_get(a: Any, b: Any, c: Any, /) -> Expr:
    """A field of a descriptor."""

def tvm_struct_set(a: Any, b: Any, c: Any, d: Any, /) -> Expr:
    """A field of a descriptor is set."""

def tvm_thread_allreduce(a: Any, *args: Any) -> Expr:
    """A reduction over the threads of a block."""

def tvm_thread_context(x: Any, /) -> Expr:
    """A value that belongs to the thread."""

def tvm_thread_invariant(x: Any, /) -> Expr:
    """A value that all threads agree on."""

def tvm_throw_last_error() -> Expr:
    """The error that a call left is raised."""

def tvm_tuple(*args: Any) -> Expr:
    """Several values as one argument."""

def tvm_warp_activemask() -> Expr:
    """The active lanes of the warp."""

def tvm_warp_shuffle(a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
    """A value of another lane of the warp."""

def tvm_warp_shuffle_down(a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
    """A value of a higher lane of the warp."""

def tvm_warp_shuffle_up(a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
    """A value of a lower lane of the warp."""

def tvm_warp_shuffle_xor(a: Any, b: Any, c: Any, d: Any, e: Any, /) -> Expr:
    """A value of the lane at the index xor."""

def type_annotation(dtype: Any, /) -> Expr:
    """A dtype as an argument."""

uint16: TypeName
"""The element type uint16."""

uint16x16: TypeName
"""The element type uint16x16."""

uint16x2: TypeName
"""The element type uint16x2."""

uint16x32: TypeName
"""The element type uint16x32."""

uint16x4: TypeName
"""The element type uint16x4."""

uint16x64: TypeName
"""The element type uint16x64."""

uint16x8: TypeName
"""The element type uint16x8."""

uint16xvscalex16: TypeName
"""The element type uint16xvscalex16."""

uint16xvscalex2: TypeName
"""The element type uint16xvscalex2."""

uint16xvscalex32: TypeName
"""The element type uint16xvscalex32."""

uint16xvscalex4: TypeName
"""The element type uint16xvscalex4."""

uint16xvscalex64: TypeName
"""The element type uint16xvscalex64."""

uint16xvscalex8: TypeName
"""The element type uint16xvscalex8."""

uint32: TypeName
"""The element type uint32."""

uint32x16: TypeName
"""The element type uint32x16."""

uint32x2: TypeName
"""The element type uint32x2."""

uint32x32: TypeName
"""The element type uint32x32."""

uint32x4: TypeName
"""The element type uint32x4."""

uint32x64: TypeName
"""The element type uint32x64."""

uint32x8: TypeName
"""The element type uint32x8."""

uint32xvscalex16: TypeName
"""The element type uint32xvscalex16."""

uint32xvscalex2: TypeName
"""The element type uint32xvscalex2."""

uint32xvscalex32: TypeName
"""The element type uint32xvscalex32."""

uint32xvscalex4: TypeName
"""The element type uint32xvscalex4."""

uint32xvscalex64: TypeName
"""The element type uint32xvscalex64."""

uint32xvscalex8: TypeName
"""The element type uint32xvscalex8."""

uint64: TypeName
"""The element type uint64."""

uint64x16: TypeName
"""The element type uint64x16."""

uint64x2: TypeName
"""The element type uint64x2."""

uint64x32: TypeName
"""The element type uint64x32."""

uint64x4: TypeName
"""The element type uint64x4."""

uint64x64: TypeName
"""The element type uint64x64."""

uint64x8: TypeName
"""The element type uint64x8."""

uint64xvscalex16: TypeName
"""The element type uint64xvscalex16."""

uint64xvscalex2: TypeName
"""The element type uint64xvscalex2."""

uint64xvscalex32: TypeName
"""The element type uint64xvscalex32."""

uint64xvscalex4: TypeName
"""The element type uint64xvscalex4."""

uint64xvscalex64: TypeName
"""The element type uint64xvscalex64."""

uint64xvscalex8: TypeName
"""The element type uint64xvscalex8."""

uint8: TypeName
"""The element type uint8."""

uint8x16: TypeName
"""The element type uint8x16."""

uint8x2: TypeName
"""The element type uint8x2."""

uint8x32: TypeName
"""The element type uint8x32."""

uint8x4: TypeName
"""The element type uint8x4."""

uint8x64: TypeName
"""The element type uint8x64."""

uint8x8: TypeName
"""The element type uint8x8."""

uint8xvscalex16: TypeName
"""The element type uint8xvscalex16."""

uint8xvscalex2: TypeName
"""The element type uint8xvscalex2."""

uint8xvscalex32: TypeName
"""The element type uint8xvscalex32."""

uint8xvscalex4: TypeName
"""The element type uint8xvscalex4."""

uint8xvscalex64: TypeName
"""The element type uint8xvscalex64."""

uint8xvscalex8: TypeName
"""The element type uint8xvscalex8."""

def undef(to: Any) -> Expr:
    """Any value."""

def unroll(
    start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None
) -> Iterator[Var]:
    """a loop that is written out"""

def var(dtype: Any) -> Var:
    """a symbolic variable: `n = T.var("int64")`"""

def vectorcombine(dtype: Any, a: Any, b: Any, /) -> Expr:
    """Two vectors behind each other."""

def vectorhigh(dtype: Any, x: Any, /) -> Expr:
    """The upper half of a vector."""

def vectorized(
    start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None
) -> Iterator[Var]:
    """a loop that becomes vector instructions"""

def vectorlow(dtype: Any, x: Any, /) -> Expr:
    """The lower half of a vector."""

void: TypeName
"""The element type void."""

def vscale() -> Expr:
    """The factor of scalable vectors."""

class _Webgpu:
    """Intrinsics of other machines."""

    def subgroup_shuffle(self, a: Any, b: Any, /) -> Expr:
        """A value of another lane of the subgroup."""
    def subgroup_shuffle_down(self, a: Any, b: Any, /) -> Expr:
        """A value of a higher lane of the subgroup."""
    def subgroup_shuffle_up(self, a: Any, b: Any, /) -> Expr:
        """A value of a lower lane of the subgroup."""

webgpu: _Webgpu

def where(condition: Any, /) -> None:
    """the block's predicate: `T.where(cond)`"""

def writes(*regions: Any) -> None:
    """the regions that the block writes: `T.writes(A[i])`"""
