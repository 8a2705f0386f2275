"""The header of an exported library: what a C or C++ program includes."""

from __future__ import annotations

import re

from tirscript.ir.words import parenthesized

from .names import c_name, commented
from .plan import CODES, CFunctionPlan, CParam, LibraryPlan

# what a scalar of a dtype is in C; narrow floats cross as their bits
C_SCALARS = {
    "bool": "bool",
    **{f"{word}{bits}": f"{word}{bits}_t" for word in ("int", "uint") for bits in (8, 16, 32, 64)},
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float8_e4m3fn": "uint8_t",
    "float8_e5m2": "uint8_t",
    "float32": "float",
    "float64": "double",
}
# a dtype as code and bits of a DLDataType
_DTYPES = {
    "BOOL": (6, 8),
    **{f"INT{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"FLOAT{bits}": (2, bits) for bits in (16, 32, 64)},
    "BFLOAT16": (4, 16),
    "FLOAT8_E4M3FN": (10, 8),
    "FLOAT8_E5M2": (12, 8),
}

_ARRAY = """
#ifndef TIRSCRIPT_ARRAY
#define TIRSCRIPT_ARRAY
/* An array in memory, laid out as the DLTensor of DLPack. */
typedef struct tirscript_array {
  void *data;             /* where it lies */
  int32_t device_type;    /* 1: the memory of the processor */
  int32_t device_id;      /* 0 */
  int32_t ndim;           /* how many dimensions there are */
  uint8_t dtype_code;     /* what the elements are, as in the list below */
  uint8_t dtype_bits;
  uint16_t dtype_lanes;   /* 1 */
  const int64_t *shape;   /* the dimensions */
  const int64_t *strides; /* elements from one index to the next; NULL: row by row without gaps */
  uint64_t byte_offset;   /* from data to the first element */
} tirscript_array;

/* code and bits of the elements, for tirscript_array_of */
@DTYPES@
/* An array that lies row by row in data: tirscript_array_of(data, TIRSCRIPT_FLOAT32, 2, shape). */
static inline tirscript_array tirscript_array_of(void *data, uint8_t dtype_code, uint8_t dtype_bits, int32_t ndim,
                                                 const int64_t *shape) {
  tirscript_array made;
  made.data = data;
  made.device_type = 1;
  made.device_id = 0;
  made.ndim = ndim;
  made.dtype_code = dtype_code;
  made.dtype_bits = dtype_bits;
  made.dtype_lanes = 1;
  made.shape = shape;
  made.strides = 0;
  made.byte_offset = 0;
  return made;
}

/* what functions return */
enum tirscript_status {
@CODES@
};
#endif
"""


def _array_text() -> str:
    dtypes = "\n".join(f"#define TIRSCRIPT_{word} {code}, {bits}" for word, (code, bits) in _DTYPES.items())
    codes = ",\n".join(f"  TIRSCRIPT_{word} = {code} /* {doc} */" for code, (word, doc) in CODES.items())
    return _ARRAY.lstrip("\n").replace("@DTYPES@", dtypes + "\n").replace("@CODES@", codes)


ARRAY_TEXT = "\n" + _array_text()  # the struct, the dtypes and the codes, for one or several headers of a program


def header_text(plan: LibraryPlan, name: str) -> str:
    """The header of the library, whose file is called `name`."""
    guard = re.sub(r"\W", "_", name).upper()
    if not re.match(r"[A-Z]", guard):
        guard = f"TIRSCRIPT_{guard}"
    parts = [
        f"/* {name}: functions compiled by tirscript for {plan.target}.\n"
        " *\n"
        " * A function returns 0, or a code of enum tirscript_status when something is wrong;\n"
        f" * {plan.prefix}message() then says what it was. Functions may be called from several threads. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>\n",
        ARRAY_TEXT,
        '\n#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *(_declaration(function) for function in plan.functions),
        "\n/* What was wrong in the last call of this thread that did not return 0. */\n"
        f"const char *{plan.prefix}message(void);\n",
        f"\n/* The functions as JSON, which `tirscript.load` reads. */\nconst char *{plan.prefix}functions(void);\n",
    ]
    if plan.threads:
        parts.append(
            "\n/* How many threads run parallel loops, the caller among them; at first what the environment's\n"
            " * TIRSCRIPT_NUM_THREADS says, else as many as there are processors. */\n"
            f"void {plan.prefix}set_num_threads(int32_t n);\n"
        )
    parts.append(f"\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n")
    return "".join(parts)


def prototype(plan: CFunctionPlan) -> str:
    """The function as C declares it, without a semicolon."""
    used: set[str] = set()
    words = [f"{_type(one)}{_name(one.name, used)}" for one in plan.params]
    if plan.returns is not None:
        words.append(f"{C_SCALARS[plan.returns]} *{_name('result', used)}")
    head = f"int32_t {plan.symbol}("
    text = f"{head}{', '.join(words) or 'void'})"
    return text if len(text) <= 100 else f"{head}{(',' + chr(10) + ' ' * len(head)).join(words)})"


def _declaration(plan: CFunctionPlan) -> str:
    """A function with a comment that says what it takes."""
    lines = [line.strip() for line in (plan.doc or "").strip().splitlines()]
    if plan.name != plan.symbol:
        lines.append(f"The function `{plan.name}` of the program.")
    used: set[str] = set()
    for one in plan.params:
        name = _name(one.name, used)
        if one.kind == "array":
            lines.append(f"{name}: {one.dtype}, {_shape(one)}{', written' if one.written else ''}")
        elif one.kind == "pointer":
            lines.append(f"{name}: memory{', written' if one.written else ''}")
        elif one.dtype not in ("float32", "float64", "bool") and "float" in one.dtype:
            lines.append(f"{name}: the bits of a {one.dtype}")
    if plan.returns is not None:
        lines.append(f"{_name('result', used)}: where what it returns is written, {plan.returns}")
    body = "\n".join(f" * {commented(line)}".rstrip() for line in lines)
    return f"\n/*\n{body}\n */\n{prototype(plan)};\n" if lines else f"\n{prototype(plan)};\n"


def _shape(one: CParam) -> str:
    if not one.shape:
        return "no dimensions"
    return parenthesized(one.shape)


def _type(one: CParam) -> str:
    if one.kind == "array":
        return "tirscript_array *" if one.written else "const tirscript_array *"
    if one.kind == "pointer":
        return "void *" if one.written else "const void *"
    return f"{C_SCALARS[one.dtype]} "


def _name(name: str, used: set[str]) -> str:
    """A parameter's name as C may have it, unlike those before it."""
    made = c_name(name)
    while made in used:
        made += "_"
    used.add(made)
    return made


__all__ = ["ARRAY_TEXT", "C_SCALARS", "header_text", "prototype"]
