"""The graph language: types, constructs and operators.

Written by `.ci/stubs.py` from the tables that the parser reads; `make stubs` writes it again.
"""

from typing import Any as _Any
from typing import no_type_check as graph_func  # for mypy, which finds the first definition of a name
from typing import no_type_check as macro

from tirscript.ir.graph import OpCall

from .graph_names import EntryForm, GraphForm, TypeForm
from .typing_extensions import macro  # type: ignore[assignment, no-redef]
from .typing_extensions import no_type_check as graph_func  # type: ignore[assignment]

function = graph_func
func = graph_func

__all__ = [
    "Any",
    "Callable",
    "DTensor",
    "ExternFunc",
    "Object",
    "Prim",
    "Shape",
    "Tensor",
    "Tuple",
    "TupleGetItem",
    "abs",
    "acos",
    "acosh",
    "add",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "assert_op",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "bucketize",
    "builtin",
    "call_builtin_with_ctx",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_pure_packed",
    "call_py_func",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "ceil",
    "clip",
    "collapse_sum_like",
    "collapse_sum_to",
    "concat",
    "const",
    "constant",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "dataflow",
    "dequantize",
    "device",
    "device_mesh",
    "divide",
    "dtype",
    "dynamic_strided_slice",
    "einsum",
    "equal",
    "erf",
    "ewise_fma",
    "exp",
    "expand_dims",
    "eye",
    "eye_like",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "floor_mod",
    "full",
    "full_like",
    "func",
    "func_attr",
    "function",
    "gather_elements",
    "gather_nd",
    "grad",
    "graph_func",
    "greater",
    "greater_equal",
    "hamming_window",
    "image",
    "index_put",
    "index_tensor",
    "invoke_closure",
    "invoke_pure_closure",
    "isfinite",
    "isinf",
    "isnan",
    "layout_transform",
    "left_shift",
    "less",
    "less_equal",
    "linear",
    "log",
    "log_add_exp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "macro",
    "make_closure",
    "match_cast",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "multinomial_from_uniform",
    "multiply",
    "negative",
    "nn",
    "nonzero",
    "not_equal",
    "null_value",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "output",
    "permute_dims",
    "power",
    "prim_value",
    "print",
    "prod",
    "quantize",
    "repeat",
    "reshape",
    "reverse_sequence",
    "right_shift",
    "round",
    "rsqrt",
    "scatter_elements",
    "scatter_nd",
    "shape",
    "shape_of",
    "shape_to_tensor",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice_scatter",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "str",
    "strided_slice",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "tensor_to_shape",
    "tile",
    "topk",
    "tril",
    "triu",
    "trunc",
    "tuple",
    "unique",
    "variance",
    "vision",
    "where",
    "zeros",
    "zeros_like",
]

Any: TypeForm
"""any value: `G.Object`"""

Callable: TypeForm
"""a function: `G.Callable((G.Tensor((4,)),), G.Tensor((4,)))`"""

DTensor: TypeForm
"""a tensor over several devices: `G.DTensor((4, 4), "float32", "mesh[0]", "S[0]")`"""

ExternFunc: EntryForm
"""a function of a library: `G.ExternFunc("name")`"""

Object: TypeForm
"""any value: `G.Object`"""

Prim: TypeForm
"""a scalar: `G.Prim("int64")`"""

Shape: TypeForm
"""a shape: `G.Shape(("n", 4))`, `G.Shape(ndim=2)`"""

Tensor: TypeForm
"""a tensor: `G.Tensor((4, "n"), "float32")`, `G.Tensor(ndim=2, dtype="float32")`"""

Tuple: TypeForm
"""a tuple: `G.Tuple(G.Tensor((4,)), G.Shape(ndim=2))`"""

TupleGetItem: GraphForm
"""a field of a tuple, as in `t[0]`"""

call_packed: GraphForm
"""a call of a library function for its effect: `G.call_packed("name", x)`"""

const: GraphForm
"""a constant: `G.const(1.0, "float32")`, `G.const(array)`"""

constant: GraphForm
"""a constant by its digest: `G.constant("sha256:…", (64, 64), "float32")`"""

dataflow: GraphForm
"""bindings without effects: `with G.dataflow():`"""

device: GraphForm
"""a device as a value: `G.device(device_type=1, index=0)`"""

device_mesh: EntryForm
"""devices of the module that tensors lie on: `G.device_mesh((2, 2), I.Range(0, 4))`"""

dtype: GraphForm
"""a dtype as a value: `G.dtype("float32")`"""

func_attr: GraphForm
"""attributes of the function: `G.func_attr({...})`"""

match_cast: GraphForm
"""a value checked at run time: `y = G.match_cast(x, G.Tensor((m, 4)))`"""

output: GraphForm
"""what is in scope behind a dataflow: `G.output(y)`"""

prim_value: GraphForm
"""a scalar as a value: `G.prim_value(n * 2)`"""

shape: GraphForm
"""a shape as a value: `G.shape([n, 4])`"""

str: GraphForm
"""a string as a value: `G.str("text")`"""

tuple: GraphForm
"""a tuple: `G.tuple(x, y)`"""

def abs(x: _Any) -> OpCall:
    """The value without its sign."""

def acos(x: _Any) -> OpCall:
    """The inverse cosine."""

def acosh(x: _Any) -> OpCall:
    """The inverse hyperbolic cosine."""

def add(x1: _Any, x2: _Any) -> OpCall:
    """The sum."""

def arange(start: _Any, end: _Any = ..., step: _Any = ..., dtype: _Any = ...) -> OpCall:
    """The numbers from start up to end, which is not among them."""

def argmax(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The place of the first greatest element along an axis, or of all in order, but for nan."""

def argmin(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The place of the first least element along an axis, or of all in order, but for nan."""

def argsort(data: _Any, axis: _Any = ..., descending: _Any = ..., dtype: _Any = ...) -> OpCall:
    """The indices along an axis in the order of the elements."""

def asin(x: _Any) -> OpCall:
    """The inverse sine."""

def asinh(x: _Any) -> OpCall:
    """The inverse hyperbolic sine."""

def assert_op(condition: _Any, *args: _Any, format: _Any = ...) -> OpCall:
    """The program ends with a message where the condition is false."""

def astype(x: _Any, dtype: _Any) -> OpCall:
    """The elements converted to a dtype; floats to integers truncate toward zero."""

def atan(x: _Any) -> OpCall:
    """The inverse tangent."""

def atan2(x1: _Any, x2: _Any) -> OpCall:
    """The angle of the point (x2, x1); of integers rounded toward zero."""

def atanh(x: _Any) -> OpCall:
    """The inverse hyperbolic tangent."""

def bitwise_and(x1: _Any, x2: _Any) -> OpCall:
    """The bits set in both."""

def bitwise_not(x: _Any) -> OpCall:
    """Every bit changed."""

def bitwise_or(x1: _Any, x2: _Any) -> OpCall:
    """The bits set in either."""

def bitwise_xor(x1: _Any, x2: _Any) -> OpCall:
    """The bits set in one."""

def broadcast_to(x: _Any, shape: _Any) -> OpCall:
    """Dimensions of 1 repeated to a shape, and new ones before them."""

def bucketize(input_tensor: _Any, boundaries: _Any, out_int32: _Any = ..., right: _Any = ...) -> OpCall:
    """The number of boundaries, which ascend, below each element (or at most it, where `right`); below nan is none."""

def call_builtin_with_ctx(func: _Any, args: _Any, ty_args: _Any = ...) -> OpCall:
    """A function of TVM's virtual machine."""

def call_dps_packed(func: _Any, args: _Any, out: _Any = ...) -> OpCall:
    """A library function that writes its results into tensors passed behind the arguments."""

def call_inplace_packed(func: _Any, *args: _Any, inplace_indices: _Any, ty_args: _Any = ...) -> OpCall:
    """A library function that writes into the arguments at `inplace_indices`."""

def call_pure_packed(func: _Any, *args: _Any, ty_args: _Any = ...) -> OpCall:
    """A library function that gives its result and does nothing else."""

def call_py_func(func: _Any, *args: _Any, out: _Any = ...) -> OpCall:
    """A Python function of the module, by name, that gives its result and does nothing else."""

def call_tir(func: _Any, args: _Any, out: _Any = ..., tir_vars: _Any = ...) -> OpCall:
    """A tensor function on tensors: it writes its results into new ones, which the call gives."""

def call_tir_inplace(func: _Any, args: _Any, inplace_indices: _Any, out: _Any = ..., tir_vars: _Any = ...) -> OpCall:
    """A tensor function that writes result i into argument `inplace_indices[i]`; at -1 into a new tensor."""

def call_tir_with_grad(
    func: _Any, args: _Any, out: _Any = ..., te_grad_name: _Any = ..., te_grad_kwargs: _Any = ...
) -> OpCall:
    """`call_tir` with the name of the function that computes its gradient."""

def ceil(x: _Any) -> OpCall:
    """Rounded up."""

def clip(x: _Any, min: _Any, max: _Any) -> OpCall:
    """x within min and max."""

def collapse_sum_like(data: _Any, collapse_target: _Any) -> OpCall:
    """What broadcasting to the data repeated, added up again to the shape of another tensor."""

def collapse_sum_to(data: _Any, shape: _Any) -> OpCall:
    """What broadcasting to the data repeated, added up again to a shape."""

def concat(tensors: _Any, axis: _Any = ...) -> OpCall:
    """The tensors one behind the other along an axis."""

def cos(x: _Any) -> OpCall:
    """The cosine of radians."""

def cosh(x: _Any) -> OpCall:
    """The hyperbolic cosine."""

def cumprod(data: _Any, axis: _Any = ..., dtype: _Any = ..., exclusive: _Any = ...) -> OpCall:
    """The products of the elements up to each, along an axis, or of all in order."""

def cumsum(data: _Any, axis: _Any = ..., dtype: _Any = ..., exclusive: _Any = ...) -> OpCall:
    """The sums of the elements up to each, along an axis, or of all in order."""

def dequantize(data: _Any, scale: _Any, zero_point: _Any, axis: _Any = ..., out_dtype: _Any = ...) -> OpCall:
    """(data - zero_point) * scale."""

def divide(x1: _Any, x2: _Any) -> OpCall:
    """The quotient; of integers rounded toward zero."""

def dynamic_strided_slice(x: _Any, begin: _Any, end: _Any, strides: _Any) -> OpCall:
    """`x[begin:end:stride]` along all axes, with bounds known when the program runs."""

def einsum(operands: _Any, subscripts: _Any) -> OpCall:
    """Sums of products over named axes: `ij,jk->ik` is a product of matrices."""

def equal(x1: _Any, x2: _Any) -> OpCall:
    """Whether the elements are equal."""

def erf(x: _Any) -> OpCall:
    """The error function."""

def ewise_fma(x1: _Any, x2: _Any, x3: _Any) -> OpCall:
    """x1 * x2 + x3."""

def exp(x: _Any) -> OpCall:
    """e raised to x."""

def expand_dims(x: _Any, axis: _Any) -> OpCall:
    """New dimensions of 1 at some places of the result."""

def eye(n: _Any, m: _Any = ..., k: _Any = ..., dtype: _Any = ...) -> OpCall:
    """A matrix of ones on diagonal k and zeros elsewhere."""

def eye_like(x: _Any, k: _Any = ..., dtype: _Any = ...) -> OpCall:
    """`eye` of the shape of another matrix."""

def flatten(x: _Any) -> OpCall:
    """The elements in their order."""

def flip(data: _Any, axis: _Any) -> OpCall:
    """The elements along an axis in reverse order."""

def floor(x: _Any) -> OpCall:
    """Rounded down."""

def floor_divide(x1: _Any, x2: _Any) -> OpCall:
    """The quotient rounded down."""

def floor_mod(x1: _Any, x2: _Any) -> OpCall:
    """The remainder of `floor_divide`, with the divisor's sign."""

def full(shape: _Any, fill_value: _Any, dtype: _Any = ...) -> OpCall:
    """A tensor of one value."""

def full_like(x: _Any, fill_value: _Any, dtype: _Any = ...) -> OpCall:
    """A tensor of one value with the shape of another."""

def gather_elements(data: _Any, indices: _Any, axis: _Any = ...) -> OpCall:
    """The elements of the data whose place along an axis the indices give."""

def gather_nd(data: _Any, indices: _Any, batch_dims: _Any = ...) -> OpCall:
    """The elements, or parts, of the data at the places in the last dimension of the indices."""

def greater(x1: _Any, x2: _Any) -> OpCall:
    """Whether x1 is above x2."""

def greater_equal(x1: _Any, x2: _Any) -> OpCall:
    """Whether x1 is above or equal to x2."""

def hamming_window(
    window_size: _Any, periodic: _Any = ..., alpha: _Any = ..., beta: _Any = ..., dtype: _Any = ...
) -> OpCall:
    """alpha - beta * cos(2 pi i / window_size); divided by window_size - 1 where it is not periodic."""

def index_put(data: _Any, indices: _Any, values: _Any, accumulate: _Any = ...) -> OpCall:
    """`data[indices] = values`, with a tensor of indices for each of the first dimensions; or `+=`."""

def index_tensor(data: _Any, indices: _Any) -> OpCall:
    """`data[indices]` with a tensor of indices for each of the first dimensions; they broadcast."""

def invoke_closure(func: _Any, args: _Any, ty_args: _Any = ...) -> OpCall:
    """A closure called with the rest of its arguments."""

def invoke_pure_closure(func: _Any, args: _Any, ty_args: _Any = ...) -> OpCall:
    """`invoke_closure` of a closure without effects."""

def isfinite(x: _Any) -> OpCall:
    """Whether the element is neither infinite nor nan."""

def isinf(x: _Any) -> OpCall:
    """Whether the element is an infinity."""

def isnan(x: _Any) -> OpCall:
    """Whether the element is not a number."""

def layout_transform(x: _Any, index_map: _Any, pad_value: _Any = ...) -> OpCall:
    """Each element at the place that an index map gives; places without one hold `pad_value`."""

def left_shift(x1: _Any, x2: _Any) -> OpCall:
    """The bits moved up."""

def less(x1: _Any, x2: _Any) -> OpCall:
    """Whether x1 is below x2."""

def less_equal(x1: _Any, x2: _Any) -> OpCall:
    """Whether x1 is below or equal to x2."""

def linear(data: _Any, weight: _Any, bias: _Any = ..., out_dtype: _Any = ...) -> OpCall:
    """data @ weight transposed, plus a bias."""

def log(x: _Any) -> OpCall:
    """The natural logarithm."""

def log_add_exp(x1: _Any, x2: _Any) -> OpCall:
    """log(exp(x1) + exp(x2)); of integers rounded toward zero."""

def logical_and(x1: _Any, x2: _Any) -> OpCall:
    """Both; of numbers 1 or 0."""

def logical_not(x: _Any) -> OpCall:
    """The opposite; of numbers 1 or 0."""

def logical_or(x1: _Any, x2: _Any) -> OpCall:
    """Either; of numbers 1 or 0."""

def logical_xor(x1: _Any, x2: _Any) -> OpCall:
    """One of both; of numbers 1 or 0."""

def make_closure(func: _Any, args: _Any) -> OpCall:
    """A function of the module with its first arguments given."""

def matmul(x1: _Any, x2: _Any, out_dtype: _Any = ...) -> OpCall:
    """The product of matrices; the dimensions before the last two are a batch and broadcast."""

def max(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The greatest element along axes; nan is left out, and of nothing else it is -inf."""

def maximum(x1: _Any, x2: _Any) -> OpCall:
    """`x1 if x1 > x2 else x2`."""

def mean(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The mean along axes; of integers rounded toward zero."""

def median(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The lower median along axes; along one axis its index, too."""

def meshgrid(tensors: _Any, indexing: _Any = ...) -> OpCall:
    """The coordinates of the points of a grid, a tensor for each of the vectors."""

def min(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The least element along axes; nan is left out, and of nothing else it is inf."""

def minimum(x1: _Any, x2: _Any) -> OpCall:
    """`x1 if x1 < x2 else x2`."""

def mod(x1: _Any, x2: _Any) -> OpCall:
    """The remainder of a quotient rounded toward zero, with the dividend's sign."""

def multinomial_from_uniform(prob: _Any, uniform_sample: _Any, sample_indices: _Any, dtype: _Any = ...) -> OpCall:
    """The class at which the sum of a row's probabilities, which `sample_indices` name, passes a uniform number."""

def multiply(x1: _Any, x2: _Any) -> OpCall:
    """The product; of bools, whether both are true."""

def negative(x: _Any) -> OpCall:
    """The opposite number."""

def nonzero(x: _Any) -> OpCall:
    """The places of the elements that are not zero, a column each; how many is known when the program runs."""

def not_equal(x1: _Any, x2: _Any) -> OpCall:
    """Whether the elements differ."""

def null_value() -> OpCall:
    """No value."""

def one_hot(indices: _Any, on_value: _Any, off_value: _Any, depth: _Any, axis: _Any = ...) -> OpCall:
    """A new axis on which the place of the index holds `on_value` and the others `off_value`."""

def ones(shape: _Any, dtype: _Any) -> OpCall:
    """A tensor of ones."""

def ones_like(x: _Any, dtype: _Any = ...) -> OpCall:
    """A tensor of ones with the shape of another."""

def outer(x1: _Any, x2: _Any) -> OpCall:
    """The products of all pairs of elements of two vectors."""

def permute_dims(x: _Any, axes: _Any = ...) -> OpCall:
    """The dimensions in another order; reversed where none is given."""

def power(x1: _Any, x2: _Any) -> OpCall:
    """x1 raised to x2; of integers rounded toward zero where x2 is negative."""

def print(*args: _Any, format: _Any = ...) -> OpCall:
    """Values are printed when the program runs."""

def prod(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The product of the elements along axes; of bools, whether all are true."""

def quantize(data: _Any, scale: _Any, zero_point: _Any, axis: _Any = ..., out_dtype: _Any = ...) -> OpCall:
    """round(data / scale) + zero_point, halves to even, within `out_dtype` (nan its greatest); by channel, too."""

def repeat(data: _Any, repeats: _Any, axis: _Any = ...) -> OpCall:
    """Each element several times, along an axis or of all in order."""

def reshape(x: _Any, shape: _Any) -> OpCall:
    """The elements in their order in another shape; -1 stands for the dimension that the others leave."""

def reverse_sequence(data: _Any, seq_lengths: _Any, seq_axis: _Any = ..., batch_axis: _Any = ...) -> OpCall:
    """The first elements along an axis in reverse order, as many as `seq_lengths` says for each of the batch."""

def right_shift(x1: _Any, x2: _Any) -> OpCall:
    """The bits moved down, the sign copied."""

def round(x: _Any) -> OpCall:
    """Rounded to the nearest whole number, halves to even."""

def rsqrt(x: _Any) -> OpCall:
    """1 / sqrt(x)."""

def scatter_elements(data: _Any, indices: _Any, updates: _Any, axis: _Any = ..., reduction: _Any = ...) -> OpCall:
    """The data with updates at places whose index along an axis is given; `reduction` combines old and new, `mean` as half the sum of both, one update after the other."""

def scatter_nd(data: _Any, indices: _Any, updates: _Any, reduction: _Any = ...) -> OpCall:
    """The data with updates at the places in the last dimension of the indices."""

def shape_of(expr: _Any) -> OpCall:
    """The shape of a tensor, as a shape."""

def shape_to_tensor(expr: _Any) -> OpCall:
    """The dimensions of a shape as a tensor."""

def sigmoid(x: _Any) -> OpCall:
    """1 / (1 + exp(-x))."""

def sign(x: _Any) -> OpCall:
    """-1, 0 or 1."""

def sin(x: _Any) -> OpCall:
    """The sine of radians."""

def sinh(x: _Any) -> OpCall:
    """The hyperbolic sine."""

def size(expr: _Any) -> OpCall:
    """The number of elements."""

def slice_scatter(input_tensor: _Any, src: _Any, start: _Any, end: _Any, step: _Any = ..., axis: _Any = ...) -> OpCall:
    """A tensor whose elements `start:end:step` along an axis are those of another one."""

def sort(x: _Any, axis: _Any = ..., descending: _Any = ...) -> OpCall:
    """The elements along an axis in order."""

def split(x: _Any, indices_or_sections: _Any, axis: _Any = ...) -> OpCall:
    """Parts along an axis: so many of one size, the last one smaller, or those that begin at some indices. One part is no tuple."""

def sqrt(x: _Any) -> OpCall:
    """The square root."""

def square(x: _Any) -> OpCall:
    """x * x."""

def squeeze(x: _Any, axis: _Any = ...) -> OpCall:
    """Dimensions of 1 left out, of the axes where some are given; one that is known to be another number stays."""

def stack(tensors: _Any, axis: _Any = ...) -> OpCall:
    """Tensors of one shape along a new axis."""

def std(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The root of `variance`."""

def strided_slice(
    x: _Any, axes: _Any, begin: _Any, end: _Any, strides: _Any = ..., assume_inbound: _Any = ...
) -> OpCall:
    """`x[begin:end:stride]` along some axes; `assume_inbound` promises indices between 0 and the length."""

def subtract(x1: _Any, x2: _Any) -> OpCall:
    """The difference."""

def sum(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The sum of the elements along axes; of bools, whether one is true."""

def take(x: _Any, indices: _Any, axis: _Any = ..., mode: _Any = ...) -> OpCall:
    """The elements along an axis at some indices. Indices beyond it are a mistake (`fast`), the nearest (`clip`), counted round (`wrap`), or give nan, as negative ones do then."""

def tan(x: _Any) -> OpCall:
    """The tangent of radians."""

def tanh(x: _Any) -> OpCall:
    """The hyperbolic tangent."""

def tensor_to_shape(expr: _Any) -> OpCall:
    """The elements of a vector as the dimensions of a shape, known when the program runs."""

def tile(data: _Any, repeats: _Any) -> OpCall:
    """The whole tensor several times along each dimension."""

def topk(
    data: _Any, k: _Any = ..., axis: _Any = ..., ret_type: _Any = ..., largest: _Any = ..., dtype: _Any = ...
) -> OpCall:
    """The k greatest or least elements along an axis in order, and their indices; all where k is below 1."""

def tril(x: _Any, k: _Any = ...) -> OpCall:
    """The elements on diagonal k and below it; the others are 0."""

def triu(x: _Any, k: _Any = ...) -> OpCall:
    """The elements on diagonal k and above it; the others are 0."""

def trunc(x: _Any) -> OpCall:
    """Rounded toward zero."""

def unique(
    x: _Any,
    sorted: _Any = ...,
    return_index: _Any = ...,
    return_inverse: _Any = ...,
    return_counts: _Any = ...,
    axis: _Any = ...,
) -> OpCall:
    """The values of a tensor, or its parts along an axis, once each: in order, or as they come first. Then where each comes first, which of them each element is, and how often each comes."""

def variance(x: _Any, axis: _Any = ..., keepdims: _Any = ...) -> OpCall:
    """The mean square of the distances from the mean, along axes."""

def where(condition: _Any, x1: _Any, x2: _Any) -> OpCall:
    """x1 where the condition is true, x2 where it is false."""

def zeros(shape: _Any, dtype: _Any) -> OpCall:
    """A tensor of zeros."""

def zeros_like(x: _Any, dtype: _Any = ...) -> OpCall:
    """A tensor of zeros with the shape of another."""

class _Builtin:
    """Graph operators."""

    def stop_lift_params(self, x: _Any) -> OpCall:
        """The value; what follows from it is not computed ahead of the call."""

builtin: _Builtin

class _Grad:
    """Graph operators."""

    def avg_pool2d_backward(
        self,
        output_grad: _Any,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """What the data of `nn.avg_pool2d` get."""
    def end_checkpoint(self, input: _Any) -> OpCall:
        """The value, until which results are computed again for the gradient."""
    def max_pool2d_backward(
        self,
        output_grad: _Any,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """What the data of `nn.max_pool2d` get: the gradient of a window goes to its greatest element."""
    def nll_loss_backward(
        self,
        output_grad: _Any,
        predictions: _Any,
        targets: _Any,
        weights: _Any = ...,
        reduction: _Any = ...,
        ignore_index: _Any = ...,
    ) -> OpCall:
        """What the predictions of `nn.nll_loss` get."""
    def no_grad(self, input: _Any) -> OpCall:
        """The value, through which no gradient goes."""
    def start_checkpoint(self, input: _Any) -> OpCall:
        """The value, after which results are computed again for the gradient."""
    def take_backward(self, output_grad: _Any, x: _Any, indices: _Any, axis: _Any = ...) -> OpCall:
        """What `x` of a `take` gets: the gradients of the elements that were taken, summed."""

grad: _Grad

class _Image:
    """Graph operators."""

    def affine_grid(self, data: _Any, size: _Any, align_corners: _Any = ...) -> OpCall:
        """The grid, for `grid_sample`, of affine maps (n, 2, 3) on images of a size."""
    def grid_sample(
        self,
        data: _Any,
        grid: _Any,
        method: _Any = ...,
        layout: _Any = ...,
        padding_mode: _Any = ...,
        align_corners: _Any = ...,
    ) -> OpCall:
        """The values of images at the places of a grid, whose coordinates are from -1 to 1, that along the width first."""
    def resize2d(
        self,
        data: _Any,
        size: _Any,
        roi: _Any = ...,
        layout: _Any = ...,
        method: _Any = ...,
        coordinate_transformation_mode: _Any = ...,
        rounding_method: _Any = ...,
        cubic_alpha: _Any = ...,
        cubic_exclude: _Any = ...,
        extrapolation_value: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """Images in another size, by the modes of ONNX's Resize."""
    def resize3d(
        self,
        data: _Any,
        size: _Any,
        roi: _Any = ...,
        layout: _Any = ...,
        method: _Any = ...,
        coordinate_transformation_mode: _Any = ...,
        rounding_method: _Any = ...,
        cubic_alpha: _Any = ...,
        cubic_exclude: _Any = ...,
        extrapolation_value: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """Images in another size, by the modes of ONNX's Resize."""

image: _Image

class _Nn:
    """Graph operators."""

    def adaptive_avg_pool1d(
        self, data: _Any, output_size: _Any = ..., layout: _Any = ..., out_layout: _Any = ...
    ) -> OpCall:
        """The means of parts of a size that gives a wanted number of them."""
    def adaptive_avg_pool2d(
        self, data: _Any, output_size: _Any = ..., layout: _Any = ..., out_layout: _Any = ...
    ) -> OpCall:
        """The means of parts of a size that gives a wanted number of them."""
    def adaptive_avg_pool3d(
        self, data: _Any, output_size: _Any = ..., layout: _Any = ..., out_layout: _Any = ...
    ) -> OpCall:
        """The means of parts of a size that gives a wanted number of them."""
    def attention(
        self,
        query: _Any,
        key: _Any,
        value: _Any,
        bias: _Any = ...,
        scale: _Any = ...,
        causal_mask: _Any = ...,
        window_size: _Any = ...,
    ) -> OpCall:
        """softmax(query @ key * scale + bias) @ value for each head, on (batch, sequence, heads, head size); a causal mask hides the keys behind a query."""
    def attention_bias(
        self,
        query: _Any,
        key: _Any,
        value: _Any,
        bias: _Any,
        scale: _Any = ...,
        causal_mask: _Any = ...,
        window_size: _Any = ...,
    ) -> OpCall:
        """softmax(query @ key * scale + bias) @ value for each head, on (batch, sequence, heads, head size); a causal mask hides the keys behind a query."""
    def avg_pool1d(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The mean of each window."""
    def avg_pool2d(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The mean of each window."""
    def avg_pool3d(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The mean of each window."""
    def batch_flatten(self, data: _Any) -> OpCall:
        """All dimensions but the first as one."""
    def batch_norm(
        self,
        data: _Any,
        gamma: _Any,
        beta: _Any,
        moving_mean: _Any,
        moving_var: _Any,
        axis: _Any,
        epsilon: _Any = ...,
        center: _Any = ...,
        scale: _Any = ...,
        momentum: _Any = ...,
        training: _Any = ...,
    ) -> OpCall:
        """Elements brought to mean 0 and variance 1 by channel, scaled and shifted, and the new moving mean and variance; unless it is training by the moving ones, which stay."""
    def conv1d(
        self,
        data: _Any,
        weight: _Any,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        groups: _Any = ...,
        data_layout: _Any = ...,
        kernel_layout: _Any = ...,
        out_layout: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """A convolution over 1 dimension."""
    def conv1d_transpose(
        self,
        data: _Any,
        weight: _Any,
        strides: _Any = ...,
        padding: _Any = ...,
        output_padding: _Any = ...,
        dilation: _Any = ...,
        groups: _Any = ...,
        data_layout: _Any = ...,
        kernel_layout: _Any = ...,
        out_layout: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """The transpose of a convolution over 1 dimension: each element is spread."""
    def conv2d(
        self,
        data: _Any,
        weight: _Any,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        groups: _Any = ...,
        data_layout: _Any = ...,
        kernel_layout: _Any = ...,
        out_layout: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """A convolution over 2 dimensions."""
    def conv2d_transpose(
        self,
        data: _Any,
        weight: _Any,
        strides: _Any = ...,
        padding: _Any = ...,
        output_padding: _Any = ...,
        dilation: _Any = ...,
        groups: _Any = ...,
        data_layout: _Any = ...,
        kernel_layout: _Any = ...,
        out_layout: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """The transpose of a convolution over 2 dimensions: each element is spread."""
    def conv3d(
        self,
        data: _Any,
        weight: _Any,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        groups: _Any = ...,
        data_layout: _Any = ...,
        kernel_layout: _Any = ...,
        out_layout: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """A convolution over 3 dimensions."""
    def conv3d_transpose(
        self,
        data: _Any,
        weight: _Any,
        strides: _Any = ...,
        padding: _Any = ...,
        output_padding: _Any = ...,
        dilation: _Any = ...,
        groups: _Any = ...,
        data_layout: _Any = ...,
        kernel_layout: _Any = ...,
        out_layout: _Any = ...,
        out_dtype: _Any = ...,
    ) -> OpCall:
        """The transpose of a convolution over 3 dimensions: each element is spread."""
    def cross_entropy_with_logits(self, predictions: _Any, labels: _Any) -> OpCall:
        """-sum(predictions * labels), divided by the size of the batch where there is one."""
    def dropout(self, data: _Any, rate: _Any = ...) -> OpCall:
        """The data as they are, which is what dropout means at inference, and a mask of ones."""
    def gelu(self, data: _Any) -> OpCall:
        """x times the normal distribution's function at x."""
    def gelu_tanh(self, data: _Any) -> OpCall:
        """gelu approximated by tanh."""
    def group_norm(
        self,
        data: _Any,
        gamma: _Any,
        beta: _Any,
        num_groups: _Any,
        channel_axis: _Any,
        axes: _Any,
        epsilon: _Any = ...,
        center: _Any = ...,
        scale: _Any = ...,
    ) -> OpCall:
        """Elements brought to mean 0 and variance 1 in each group of channels of each of the batch, scaled and shifted by channel."""
    def instance_norm(
        self,
        data: _Any,
        gamma: _Any,
        beta: _Any,
        channel_axis: _Any,
        axes: _Any,
        epsilon: _Any = ...,
        center: _Any = ...,
        scale: _Any = ...,
    ) -> OpCall:
        """Elements brought to mean 0 and variance 1 in each channel of each of the batch, scaled and shifted by channel."""
    def layer_norm(
        self,
        data: _Any,
        gamma: _Any,
        beta: _Any,
        axes: _Any,
        epsilon: _Any = ...,
        center: _Any = ...,
        scale: _Any = ...,
    ) -> OpCall:
        """Elements brought to mean 0 and variance 1 along some axes, scaled and shifted."""
    def leakyrelu(self, data: _Any, alpha: _Any = ...) -> OpCall:
        """x where it is positive, otherwise alpha * x."""
    def log_softmax(self, data: _Any, axis: _Any = ...) -> OpCall:
        """The logarithm of `nn.softmax`."""
    def max_pool1d(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The greatest element of each window."""
    def max_pool1d_indices(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The number, row by row among the elements of its channel, of the first greatest element of each window."""
    def max_pool2d(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The greatest element of each window."""
    def max_pool2d_indices(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The number, row by row among the elements of its channel, of the first greatest element of each window."""
    def max_pool3d(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        count_include_pad: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The greatest element of each window."""
    def max_pool3d_indices(
        self,
        data: _Any,
        pool_size: _Any = ...,
        strides: _Any = ...,
        padding: _Any = ...,
        dilation: _Any = ...,
        ceil_mode: _Any = ...,
        layout: _Any = ...,
        out_layout: _Any = ...,
    ) -> OpCall:
        """The number, row by row among the elements of its channel, of the first greatest element of each window."""
    def nll_loss(
        self, predictions: _Any, targets: _Any, weights: _Any = ..., reduction: _Any = ..., ignore_index: _Any = ...
    ) -> OpCall:
        """The negative log likelihood of the targets, whose logarithms are predicted; `ignore_index` counts as 0."""
    def pad(self, data: _Any, pad_width: _Any, pad_mode: _Any = ..., pad_value: _Any = ...) -> OpCall:
        """Elements added before and after each dimension: of one value, mirrored, of the edge, or from the other end."""
    def pixel_shuffle(self, data: _Any, upscale_factor: _Any) -> OpCall:
        """Channels moved into a larger image: (c * r * r, h, w) to (c, h * r, w * r)."""
    def prelu(self, data: _Any, alpha: _Any, axis: _Any = ...) -> OpCall:
        """x where it is positive, otherwise x times the slope of its channel; one slope is that of all."""
    def relu(self, data: _Any) -> OpCall:
        """x where it is positive, otherwise 0."""
    def relu6(self, data: _Any) -> OpCall:
        """x within 0 and 6."""
    def rms_norm(self, data: _Any, weight: _Any, axes: _Any = ..., epsilon: _Any = ...) -> OpCall:
        """Elements divided by the root of their mean square along some axes, and scaled."""
    def selu(self, data: _Any) -> OpCall:
        """scale * (x where positive, otherwise alpha * (exp(x) - 1))."""
    def silu(self, data: _Any) -> OpCall:
        """x * sigmoid(x)."""
    def softmax(self, data: _Any, axis: _Any = ...) -> OpCall:
        """exp(x) divided by its sum along an axis."""
    def softplus(self, data: _Any, beta: _Any = ..., threshold: _Any = ...) -> OpCall:
        """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""

nn: _Nn

class _Vision:
    """Graph operators."""

    def all_class_non_max_suppression(
        self,
        boxes: _Any,
        scores: _Any,
        max_output_boxes_per_class: _Any,
        iou_threshold: _Any,
        score_threshold: _Any,
        output_format: _Any = ...,
    ) -> OpCall:
        """The boxes (y1, x1, y2, x2) of each class with the highest scores, without those that overlap a better one: rows of (batch, class, box) and how many there are, behind which rows are 0; or by batch, with their scores."""
    def get_valid_counts(
        self, data: _Any, score_threshold: _Any = ..., id_index: _Any = ..., score_index: _Any = ...
    ) -> OpCall:
        """How many rows of numbers have a score above a limit and a class; these rows, behind which all is -1; and where they were."""
    def multibox_transform_loc(
        self,
        cls_pred: _Any,
        loc_pred: _Any,
        anchor: _Any,
        clip: _Any = ...,
        threshold: _Any = ...,
        variances: _Any = ...,
        keep_background: _Any = ...,
        apply_softmax: _Any = ...,
    ) -> OpCall:
        """Boxes (y1, x1, y2, x2) from places and sizes (x, y, w, h) relative to anchors (x1, y1, x2, y2), and the scores of their classes, those below `threshold` 0."""
    def non_max_suppression(
        self,
        data: _Any,
        valid_count: _Any,
        indices: _Any,
        max_output_size: _Any = ...,
        iou_threshold: _Any = ...,
        force_suppress: _Any = ...,
        top_k: _Any = ...,
        coord_start: _Any = ...,
        score_index: _Any = ...,
        id_index: _Any = ...,
        return_indices: _Any = ...,
        invalid_to_bottom: _Any = ...,
        soft_nms_sigma: _Any = ...,
        score_threshold: _Any = ...,
    ) -> OpCall:
        """The rows of numbers with the highest scores, without boxes of one class that overlap a better one, or with lower scores for these (soft): what `indices` call them and how many they are, or the rows, -1 behind them."""
    def roi_align(
        self,
        data: _Any,
        rois: _Any,
        pooled_size: _Any,
        spatial_scale: _Any,
        sample_ratio: _Any = ...,
        aligned: _Any = ...,
        layout: _Any = ...,
        mode: _Any = ...,
    ) -> OpCall:
        """Parts of images in one size: the mean or greatest of values between pixels (Mask R-CNN, He et al., 2017). A part is at least one pixel wide and high unless it is `aligned`."""
    def roi_pool(self, data: _Any, rois: _Any, pooled_size: _Any, spatial_scale: _Any, layout: _Any = ...) -> OpCall:
        """Parts of images in one size: the greatest of the pixels of each part (Fast R-CNN, Girshick, 2015)."""

vision: _Vision
