"""The functions that C programs call: they look at the structs of arrays and call a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir import Buffer, CallFunction, PrimFunc, Var
from tirscript.ir.dtype import VOID, dtype
from tirscript.ir.written import noalias

from ..export.header import prototype
from ..export.plan import CFunctionPlan
from ..runtime.arguments import buffer_of
from ..runtime.exchange import type_code
from . import memory
from .calls import call_function
from .code import Code, cast
from .types import c_type
from .writer import Writer, quoted

if TYPE_CHECKING:
    from .module import CModule

VIEWS = """/* an array that was looked at: its first element, strides in elements, and the bytes that it takes */
typedef struct array_view {
  char *data;
  const int64_t *shape;
  int64_t strides[@RANK@];
  uintptr_t begin, end;
  bool empty;
} array_view;

/* Look at an array that must have so many dimensions and elements of a dtype, of `size` bytes each. */
static int32_t view_array(array_view *view, const tirscript_array *array, const char *who, int32_t ndim, int32_t dtype,
                          const char *dtype_name, int64_t size) {
  uint64_t expected = 1;
  if (array == NULL) return fail(TIRSCRIPT_ARGUMENT, "%s must not be null", who);
  if (array->device_type != 1)
    return fail(TIRSCRIPT_ARGUMENT, "%s must be in the memory of the processor (device_type 1)", who);
  if (array->ndim != ndim)
    return fail(TIRSCRIPT_ARGUMENT, "%s must have %d dimension%s, not %d", who, (int)ndim, ndim == 1 ? "" : "s",
                (int)array->ndim);
  if ((int32_t)(array->dtype_code | (uint32_t)array->dtype_bits << 8 | (uint32_t)array->dtype_lanes << 16) != dtype)
    return fail(TIRSCRIPT_ARGUMENT, "%s must hold %s, not code %d with %d bits and %d lanes", who, dtype_name,
                array->dtype_code, array->dtype_bits, array->dtype_lanes);
  if (ndim > 0 && array->shape == NULL) return fail(TIRSCRIPT_ARGUMENT, "%s must have a shape", who);
  view->data = (char *)array->data + array->byte_offset;
  view->shape = array->shape;
  view->empty = false;
  view->begin = (uintptr_t)view->data;
  view->end = view->begin + (uintptr_t)size;
  for (int32_t at = ndim - 1; at >= 0; --at) {
    const int64_t extent = array->shape[at];
    if (extent < 0 || extent >= INT64_C(1) << 56)
      return fail(TIRSCRIPT_ARGUMENT, "dimension %d of %s must be a size, not %lld", (int)at, who, (long long)extent);
    view->empty = view->empty || extent == 0;
    view->strides[at] = array->strides == NULL ? (int64_t)expected : array->strides[at];
    expected *= (uint64_t)extent;
    if (view->strides[at] < 0)
      view->begin += ((uintptr_t)extent - 1) * (uintptr_t)view->strides[at] * (uintptr_t)size;
    else
      view->end += ((uintptr_t)extent - 1) * (uintptr_t)view->strides[at] * (uintptr_t)size;
  }
  if (view->data == NULL && !view->empty) return fail(TIRSCRIPT_ARGUMENT, "the data of %s must not be null", who);
  if ((uintptr_t)view->data % (uintptr_t)size != 0)
    return fail(TIRSCRIPT_ARGUMENT, "the data of %s must be aligned to %d bytes", who, (int)size);
  return 0;
}

/* An array that is written shares no bytes with another one. */
static int32_t must_be_apart(const array_view *written, const array_view *other, const char *who, const char *from) {
  if (written->empty || other->empty || written->end <= other->begin || other->end <= written->begin) return 0;
  return fail(TIRSCRIPT_ARGUMENT, "%s is written and must not overlap `%s`", who, from);
}"""


def entry_text(module: CModule, func: PrimFunc, plan: CFunctionPlan) -> str:
    """The C function of `func`, whose kernel has its name."""
    w = Writer(module, func)
    words = prototype(plan)
    names = module.parameter_names(plan)
    w.scopes[0] |= set(names)
    module.result = names[-1] if plan.returns is not None else ""
    passed: list[Var | Buffer] = []
    views: list[tuple[str, str, bool]] = []
    for param, one, name in zip(func.params, plan.params, names, strict=False):
        buffer = buffer_of(func, param)
        if buffer is None:
            assert isinstance(param, Var)
            w.values[param] = name
            passed.append(param)
            continue
        view = w.name(f"{name}_view")
        w.out.add(f"array_view {view};")
        views.append((view, one.name, one.written))
        passed.append(_array(w, func, buffer, name, view))
    if noalias(func):
        for at, (view, name, written) in enumerate(views):
            for other, its, also in views[at + 1 :]:
                if written or also:
                    a, b, first, second = (view, other, name, its) if written else (other, view, its, name)
                    _try(w, f"must_be_apart(&{a}, &{b}, {quoted(f'`{first}` of `{func.name}`')}, {quoted(second)})")
    kernel = module.functions[func.name]
    answer = call_function(w, CallFunction(func.name, tuple(passed), kernel.returns or VOID))
    if plan.returns is not None:
        w.out.add(f"*{module.result} = {answer};")
    w.out.add("return 0;")
    return module.finished(words, w, func)


def _array(w: Writer, func: PrimFunc, buffer: Buffer, name: str, view: str) -> Buffer:
    """Look at an array; the buffer that stands for it in the call of the kernel."""
    element, lanes = buffer.dtype.element, buffer.dtype.lanes
    rank = buffer.ndim + (lanes != 1)
    who = quoted(f"`{name}` of `{func.name}`")
    code = type_code(element)
    _try(w, f"view_array(&{view}, {name}, {who}, {rank}, {code}, {quoted(element.name)}, {element.itemsize})")
    dims = [f"{view}.shape[{at}]" for at in range(buffer.ndim)]
    strides = [f"{view}.strides[{at}]" for at in range(buffer.ndim)]
    if lanes != 1:
        last = f"{view}.shape[{buffer.ndim}] == {lanes} && {view}.strides[{buffer.ndim}] == 1"
        w.check(Code(last, 5), "shape", f"the last dimension of `{name}` of `{func.name}` must be {lanes} without gaps")
        strides = [Code(f"{stride} / {lanes}", 13) for stride in strides]
    passed = Buffer(buffer.name, buffer.shape, buffer.dtype, buffer.shape)  # its strides are those of the argument
    data = cast(f"{c_type(dtype(element.name))} *", cast("void *", f"{view}.data"))
    w.places[passed] = memory.Place(data, tuple(dims), tuple(strides), "0", root=passed)
    return passed


def _try(w: Writer, call: str) -> None:
    """Call what gives a status, and return that where it is not 0."""
    if "status" not in w.scopes[0]:
        w.scopes[0].add("status")
        w.out.add("int32_t status;")
    w.out.add(f"if ((status = {call}) != 0) return status;")


__all__ = ["VIEWS", "entry_text"]
