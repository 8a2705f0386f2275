"""Names that C and C++ may have."""

from __future__ import annotations

import re

_KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const consteval constexpr constinit continue decltype default delete do double dynamic_cast else
    enum explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq main NULL errno I linux unix""".split()  # noqa: SIM905
)
# what the headers of the C library that programs include most have at the top level
_LIBRARY = frozenset(
    """abort abs acos acosh aligned_alloc asin asinh atan atan2 atanh atexit atof atoi atol bsearch calloc
    cbrt ceil clock copysign cos cosh div erf erfc exit exp exp10 exp2 expm1 fabs fdim floor fma fmax
    fmin fmod fopen fread free frexp fwrite gamma getenv hypot index ilogb isalpha isdigit isfinite
    isinf isnan isspace j0 j1 jn labs ldexp lgamma log log10 log1p log2 logb malloc memchr memcmp memcpy
    memmove memset modf nan nearbyint nextafter open pow printf putchar puts qsort raise rand read
    realloc remainder remove remquo rename rint round scalb scalbn scanf select signal sin sincos sinh
    sprintf sqrt srand stat strcat strcmp strcpy strlen strncpy strtod system tan tanh tgamma time trunc
    wait write y0 y1 yn""".split()  # noqa: SIM905
)

# types and macros of the headers that ours includes, and of ours
_HEADERS = re.compile(r"u?int(\w+_)?(8|16|32|64|ptr|max)_t|size_t|NAN|INFINITY|U?INT\w+_(MIN|MAX|C)|TIRSCRIPT_\w+")


def c_name(name: str) -> str:
    """The name as an identifier of C that is no keyword."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    if made[0].isdigit():
        made = f"_{made}"
    return f"{made}_" if made in _KEYWORDS or _HEADERS.fullmatch(made) else made


def is_taken(name: str) -> bool:
    """Whether C, C++ or the C library have a name of their own, so that a library should not export it."""
    return name in _KEYWORDS or name in _LIBRARY or name.rstrip("fl") in _LIBRARY or name.startswith("__")


def commented(text: str) -> str:
    """Words as a comment of C may hold them: none ends it, and none begins another, of which compilers warn."""
    return text.replace("*/", "* /").replace("/*", "/ *")


__all__ = ["c_name", "commented", "is_taken"]
