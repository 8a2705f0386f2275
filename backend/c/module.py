"""A C source of lowered functions: one file with its helpers, kernels, entries, and what `tirscript.load` reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import json

from tirscript.ir import OPS, Buffer, MatchBuffer, Module, PrimFunc, Var
from tirscript.ir.node import recursion_room

from ..export.header import ARRAY_TEXT, prototype
from ..export.names import c_name, commented
from ..export.plan import CFunctionPlan, LibraryPlan
from ..llvm.aliasing import call_sites, noalias_functions
from ..llvm.sites import nothing_returned
from ..llvm.state import FRAME_TOTAL
from ..recursion import FRAME, recursive_functions
from ..runtime.c_library import CFunction
from . import memory
from .entries import VIEWS, entry_text
from .helpers import NAMES, Helpers
from .ops import libm_name
from .types import C_TYPES, NARROW, c_type, declared, pointer
from .writer import Writer, quoted

LARGEST = (1 << 56) - 1  # elements in a dimension
TEXT_BYTES = 1024
# what the source itself uses, which variables of a program must not hide
_OWN = frozenset(
    """NULL NAN INFINITY true false bool fail message_text THREAD_LOCAL malloc free memcpy printf snprintf vsnprintf
    isnan isinf isfinite tirscript_array tirscript_array_of array_view view_array must_be_apart size_t""".split()  # noqa: SIM905
)
_MATH = frozenset(("fabs", "ldexp", *(libm_name(op) for op in OPS.values() if op.llvm is not None)))

_HEAD = """/* {title}
 *
 * C99, written by tirscript. Compile it with -ffp-contract=off (which -std=c99 is with gcc), so that a product
 * and a sum are rounded each by itself, and link it with -lm. */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define THREAD_LOCAL _Thread_local
#elif defined(__GNUC__)
#define THREAD_LOCAL __thread
#else
#define THREAD_LOCAL
#endif
"""

_FAIL = f"""/* what was wrong in the last call of this thread */
static THREAD_LOCAL char message_text[{TEXT_BYTES}];

static int32_t fail(int32_t code, const char *format, ...) {{
  va_list values;
  va_start(values, format);
  vsnprintf(message_text, sizeof message_text, format, values);
  va_end(values);
  return code;
}}
"""


class CModule:
    """What the functions of one source share."""

    def __init__(self, module: Module, plan: LibraryPlan, public: Sequence[PrimFunc], *, debug: bool) -> None:
        self.module, self.plan, self.debug = module, plan, debug
        self.functions = {func.name: func for func in module.functions if type(func) is PrimFunc}
        self.public = tuple(public)
        sites = call_sites(module)
        self.noalias = noalias_functions(module, sites)
        self.recursive = recursive_functions((caller.name, call.function) for caller, call in sites)
        self.helpers = Helpers()
        self.tables: list[str] = []
        self.constants: dict[tuple[str, str], str] = {}
        self.externs: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.libraries: dict[str, CFunction] = {}
        self.roots: dict[Var, Any] = {}
        self.frame = 0
        self.result = ""
        self._globals = {one.symbol for one in plan.functions}
        self._globals |= {f"{plan.prefix}{word}" for word in ("message", "functions")}
        self._kernels: dict[str, str] = {}
        for name in self.functions:
            self._kernels[name] = self._global(c_name(f"{name}_kernel"))

    @property
    def taken(self) -> _Taken:
        """Names that variables must not have."""
        return _Taken(self._globals)

    def _global(self, name: str) -> str:
        made, count = name, 0
        while made in self.taken:
            count += 1
            made = f"{name}_{count}"
        self._globals.add(made)
        return made

    def constant_name(self, hint: str) -> str:
        """A name for a table."""
        return self._global(c_name(f"{hint}_table"))

    def kernel(self, name: str) -> str:
        """The C function of a function of the program."""
        return self._kernels[name]

    def declare(self, name: str, text: str) -> None:
        """Declare a function from elsewhere."""
        self.externs.setdefault(name, text)
        self._globals.add(name)

    def alias_type(self, kind: str) -> str:
        """The C type of elements whose memory has elements of another type, too."""
        plain = re.sub(r"\W", "", kind.replace("*", "pointer"))
        name = f"{plain}_alias"
        self.aliases[name] = (
            f"#if defined(__GNUC__)\ntypedef {declared_as(kind, name)} __attribute__((__may_alias__));\n"
            f"#else\ntypedef {declared_as(kind, name)};\n#endif"
        )
        return name

    def text(self) -> str:
        """The whole source."""
        with recursion_room():
            heads = [f"{self.head(name)};" for name in self._kernels]
            bodies = [self.kernel_text(func) for func in self.functions.values()]
            plans = {plan.name: plan for plan in self.plan.functions}
            bodies += [entry_text(self, func, plans[func.name]) for func in self.public]
        used = {
            name
            for name in NARROW
            if any(
                re.search(rf"\b{name}\b", part)
                for part in (*bodies, *heads, *self.helpers.texts.values(), *self.tables)
            )
        }
        narrow = [f"typedef uint{NARROW[name]}_t {name}; /* its bits */" for name in NARROW if name in used]
        parts = [
            _HEAD.format(title=f"{', '.join(one.symbol for one in self.plan.functions)}"),
            ARRAY_TEXT.strip(),
            *(["\n".join(narrow)] if narrow else []),
            *(["\n".join(self.aliases.values())] if self.aliases else []),
            _FAIL.rstrip(),
            VIEWS.replace("@RANK@", str(self.rank())),
            *self.helpers.texts.values(),
            *(["\n".join(self.externs.values())] if self.externs else []),
            *self.tables,
            "\n".join(heads),
            *bodies,
            self.own(),
        ]
        return "\n\n".join(part.rstrip() for part in parts) + "\n"

    def head(self, name: str) -> str:
        """The head of a kernel."""
        func = self.functions[name]
        w = Writer(self, func)
        return f"static int32_t {self.kernel(name)}({', '.join(self._params(w, func)) or 'void'})"

    def _params(self, w: Writer, func: PrimFunc) -> list[str]:
        """The parameters of a kernel, which `w` knows from here on."""
        matched = {s.source: s.buffer for s in func.body if type(s) is MatchBuffer and type(s.source) is Var}
        restrict = "restrict " if self.noalias[func.name] else ""
        words = []
        for param in (*func.params, *func.symbols):
            buffer = param if isinstance(param, Buffer) else matched.get(param)
            name = w.name((buffer or param).name)
            if buffer is not None:
                words.append(f"{pointer(c_type(buffer.dtype))}{restrict}{name}")
            else:
                words.append(declared(param.dtype, name))
            if isinstance(param, Var):
                w.values[param] = name
                self.roots[param] = param
        if func.returns is not None:
            self.result = w.name("result")
            words.append(f"{c_type(func.returns)} *{self.result}")
        if func.name in self.recursive:
            w.depth = w.name("depth")
            words.append(f"int32_t {w.depth}")
        return words

    def kernel_text(self, func: PrimFunc) -> str:
        """A function of the program."""
        w = Writer(self, func)
        self.frame = FRAME_TOTAL - FRAME if func.name in self.recursive else 0
        params = self._params(w, func)
        for var in (*func.params, *func.symbols):
            if isinstance(var, Var) and var.dtype.is_int and any(var is d for b in func.param_buffers for d in b.shape):
                w.ranges.enter(var, (0, min(LARGEST, var.dtype.int_range()[1])))
        for param in func.params:
            if isinstance(param, Buffer):
                memory.enter(w, param, _named(params, func, param), root=param)
        w.body(func.body)
        nothing = nothing_returned(func)
        if nothing is not None:
            w.span = func.span
            w.fail("return", nothing)
        return self.finished(f"static int32_t {self.kernel(func.name)}({', '.join(params) or 'void'})", w, func)

    def rank(self) -> int:
        """The greatest number of dimensions of an argument."""
        return max([1, *(len(one.shape) for plan in self.plan.functions for one in plan.params)])

    @staticmethod
    def parameter_names(plan: CFunctionPlan) -> list[str]:
        """The names of a function's parameters in C, that of the result the last."""
        return re.findall(r"(\w+)(?=,\s|\)$)", prototype(plan)) if plan.params or plan.returns else []

    @staticmethod
    def finished(head: str, w: Writer, func: PrimFunc) -> str:
        lines = w.out.lines
        if not lines or not lines[-1].startswith("  return "):
            lines.append("  return 0;")
        doc = ""
        if func.docstring:
            doc = "".join(f" * {commented(line.strip())}\n" for line in func.docstring.strip().splitlines())
            doc = f"/*\n{doc} */\n"
        return "\n".join([f"{doc}{head} {{", *(line.rstrip() for line in lines), "}"])

    def own(self) -> str:
        """The library's own functions."""
        about = json.encode(self.plan).decode()
        spelled = "\n    ".join(quoted(about[at : at + 90]) for at in range(0, len(about), 90))
        prefix = self.plan.prefix
        return (
            f"/* What was wrong in the last call of this thread that did not return 0. */\n"
            f"const char *{prefix}message(void);\n\nconst char *{prefix}message(void) {{ return message_text; }}\n\n"
            f"/* The functions as JSON, which `tirscript.load` reads. */\nconst char *{prefix}functions(void);\n\n"
            f"const char *{prefix}functions(void) {{\n  return\n    {spelled};\n}}\n"
        )


def _named(params: list[str], func: PrimFunc, param: Buffer) -> str:
    """The name of a buffer parameter, the last word of its declaration."""
    return re.findall(r"\w+", params[func.params.index(param)])[-1]


def declared_as(kind: str, name: str) -> str:
    """A typedef's two words."""
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


class _Taken:
    """A set of names, and those that C or the source has for itself."""

    def __init__(self, own: set[str]) -> None:
        self.own = own

    def __contains__(self, name: object) -> bool:
        word = str(name)
        if word in self.own or word in _OWN or word in NAMES or word in C_TYPES:
            return True
        if word in _MATH or (word[-1:] == "f" and word[:-1] in _MATH):
            return True
        # a helper for a dtype is `min_int32`; a name with a number behind it has to be free
        base, _, kind = word.rpartition("_")
        macro = word.startswith("TIRSCRIPT_") or base.startswith(("INT", "UINT"))
        return (base in NAMES and kind in C_TYPES) or word.endswith(("_t", "_alias")) or (macro and not kind.isdigit())


__all__ = ["CModule"]
