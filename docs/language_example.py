"""What an example of docs/language.md is, and the buffers that most of them use.

`code` is the body of a function of `params`, or a whole text where it begins with a decorator or a comment that says
where it stands. `gives` is what the last argument holds (or what the function returns) after a run on `args`, in the
interpreter and natively; None where there is nothing to run. make_language.py does all that and writes the tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

A = 'A: T.Buffer((4,), "float32")'
X = 'X: T.Buffer((4,), "int32")'
B44 = 'B: T.Buffer((4, 4), "float32")'
FLOATS = "np.array([1, 2, 3, 4], 'float32')"
INTS = "np.array([1, 2, 3, 4], 'int32')"
COUNT = "np.arange(16, dtype='float32').reshape(4, 4)"


class Example(NamedTuple):
    """A construct and a program that shows it.

    what:   the construct, in Markdown
    code:   the program
    gives:  the expected result, None where there is none; an exception's class name where it must be raised
    params: the parameters around a body
    args:   the arguments of a run, as Python
    live:   the text is Python that is executed, and `f` what it defines
    tvm:    False where TVM's dialect has no form of it
    native: False where the interpreter alone runs it
    syntax: what it is printed as, and printed as for TVM, where only Python 3.12 and later can read it
    """

    what: str
    code: str
    gives: Any = None
    params: str = A
    args: str = FLOATS
    live: bool = False
    tvm: bool = True
    native: bool = True
    syntax: tuple[str, str] = ()  # type: ignore[assignment]


def on_ints(what: str, code: str, gives: Any = None, **more: Any) -> Example:
    """An example over the int32 buffer X."""
    return Example(what, code, gives, X, INTS, **more)
