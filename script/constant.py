"""Constants: `K = T.allocate_const(data, dtype, shape)`, and `T.constant(...)` for data that the text does not list.

| text | data |
| --- | --- |
| `T.allocate_const([[1, 2], [3, 4]], "int32", (2, 2))` | the numbers |
| `T.allocate_const(weights, "int8", (64, 64))` | an array of live Python, or of `parse(..., names=)` |
| `K = T.constant("sha256:…", (64, 64), "int8")` | what the store or the process has under this digest, if it has it |
| `K = T.constant(..., base64=\"\"\"…\"\"\")` | in the text, as base64 of the little-endian bytes |
| `K = T.constant(..., file="weights.safetensors")` | in a file beside the text |
"""

from __future__ import annotations

import ast
import base64
import binascii
import math
import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, ClassVar

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import ConstantStore, ConstantTensor, constant, from_bytes
from tirscript.ir.diagnostic import DiagnosticError, Label
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Const
from tirscript.ir.node import NO_ATTRS
from tirscript.ir.stmt import AllocateConst

from .block import BlockLowering
from .call import _VALUE_FORMS
from .namespace import Form
from .plain import plain_string

_FIELDS = ("data", "dtype", "shape", "annotations", "scope", "align")
_CONSTANT_FIELDS = ("digest", "shape", "dtype", "base64", "file")
_BUFFER_FIELDS = ("annotations", "scope", "align")
_EXAMPLE = 'K = T.allocate_const([1, 2, 3, 4], "int32", (4,))'


class Sources:
    """Where a text finds the data of its constants: a store that the caller gives, and the folder it lies in."""

    def __init__(self, store: ConstantStore | None = None, folder: str | os.PathLike[str] | None = None) -> None:
        self.store = store
        self.folder = None if folder is None else Path(folder)
        self.files: dict[Path, Any] = {}

    def file(self, name: str) -> Any:
        """The file of constants of that name beside the text; ValueError for a name that leads elsewhere."""
        if self.folder is None:
            raise ValueError("this text has no folder in which its files of constants lie")
        parts = (PurePosixPath(name), PureWindowsPath(name))
        if not name or "\0" in name or any(p.is_absolute() or p.drive or p.root or ".." in p.parts for p in parts):
            raise ValueError(f"{name!r} is no file beside the text")
        folder = self.folder.resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise ValueError(f"{name!r} leads out of the folder of the text")
        found = self.files.get(path)
        if found is None:
            from tirscript.ir.constant_file import ConstantFile

            found = self.files[path] = ConstantFile(path)
        return found


class ConstantLowering(BlockLowering):
    """Lowers definitions of constants."""

    sources: Sources = Sources()

    def define_construct(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> bool:
        function = self.value(call.func) if isinstance(call.func, (ast.Attribute, ast.Name)) else None
        if not isinstance(function, Form) or function.name not in ("allocate_const", "constant"):
            return super().define_construct(target, call, node)
        self.check_assignable(target.id, target)
        if function.name == "constant":
            value, given = self.read_constant(call, _BUFFER_FIELDS)
            given["shape"], given["dtype"] = value.shape, value.dtype
        else:
            value, given = self.allocated(call)
        self.define_constant(target, value, given, call, node)
        return True

    def define_constant(
        self, target: ast.Name, value: ConstantTensor, given: dict[str, Any], call: ast.Call, node: ast.stmt
    ) -> None:
        """Emit the definition. `given` holds the shape, the dtype, and what else was written, as values."""
        buffer: Buffer = self.buffer_of(
            target.id,
            given["shape"],
            given["dtype"],
            call,
            target,
            scope=given.get("scope", "global"),
            align=given.get("align", 0),
        )
        annotations = given.get("annotations", NO_ATTRS)
        self.define(target.id, buffer)
        if self.theirs:
            self.addresses.add(buffer)
        self.emit(AllocateConst(buffer, value, annotations, span=self.span(node)))

    def allocated(self, call: ast.Call) -> tuple[ConstantTensor, dict[str, Any]]:
        """The data and the options of `T.allocate_const(...)`."""
        nodes = self.constant_arguments(call, "allocate_const", _FIELDS, {"extents": "shape"})
        for field in _FIELDS[:3]:
            if field not in nodes:
                message = f"`T.allocate_const` takes the data, the dtype and the shape; the {field} is missing"
                raise self.fail("T032", message, call, hint=_EXAMPLE)
        given = self.constant_options(nodes)
        kind = self.value(nodes["dtype"])
        if isinstance(kind, (tuple, list)):
            hint = f"the dtype stands before the shape: `{_EXAMPLE}`"
            raise self.fail("T032", "the second argument of `T.allocate_const` is the dtype", nodes["dtype"], hint=hint)
        given["dtype"] = self.dtype_of(kind, nodes["dtype"])
        shape = self.value(nodes["shape"])
        given["shape"] = self.constant_shape(shape, nodes["shape"])
        data = self.value(nodes["data"])
        if isinstance(data, Const):
            data = data.value
        if isinstance(data, Buffer):
            raise self.whole(data, nodes["data"], "the data of a constant is known while parsing")
        return self.tensor(data, given["dtype"], given["shape"], nodes["data"]), given

    def tensor(self, data: Any, kind: DType, shape: tuple[Any, ...], node: ast.expr) -> ConstantTensor:
        """The constant of a Python value, which fits the declared dtype and shape."""
        sizes = _sizes(shape)
        flat = hasattr(data, "reshape") and isinstance(getattr(data, "shape", None), tuple) and len(data.shape) == 1
        if flat and same_elements(data.shape, sizes):
            data = data.reshape(sizes)  # a flat array takes the declared shape
        try:
            value = constant(data, kind)
            if not same_elements(value.shape, shape):
                constant(value, kind, sizes)  # says in which way they differ
        except TypeError as problem:
            raise self.fail("T114", str(problem), node) from None
        except DiagnosticError as problem:
            raise self.located(problem, node) from None
        return value

    def constant_arguments(
        self, call: ast.Call, name: str, fields: tuple[str, ...], also: dict[str, str]
    ) -> dict[str, ast.expr]:
        """The syntax nodes of the arguments by name."""
        given: dict[str, ast.expr] = {}
        if len(call.args) > len(fields) or any(isinstance(arg, ast.Starred) for arg in call.args):
            raise self.fail("T032", f"`T.{name}` takes {', '.join(fields)}", call)
        given.update(zip(fields, call.args, strict=False))
        for keyword in call.keywords:
            field = also.get(str(keyword.arg), str(keyword.arg))
            if field not in fields or field in given:
                what = "is given twice" if field in given else "is no argument"
                hint = f"the arguments are {', '.join(fields)}"
                raise self.fail("T032", f"`{keyword.arg}` {what} of `T.{name}`", keyword.value, hint=hint)
            given[field] = keyword.value
        return given

    def constant_options(self, nodes: dict[str, ast.expr]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if "annotations" in nodes:
            given["annotations"] = self.attrs(nodes["annotations"])
        if "scope" in nodes:
            given["scope"] = self.python(nodes["scope"], "the scope", (str,))
        if "align" in nodes:
            given["align"] = self.python(nodes["align"], "the alignment", (int,))
        return given

    def constant_shape(self, shape: Any, node: ast.expr) -> tuple[Any, ...]:
        """A shape of ints known while parsing; int64 dimensions stay what they are."""
        dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        for dim in dims:
            size = dim.value if type(dim) is Const else dim
            if isinstance(size, bool) or not hasattr(size, "__index__") or size < 0:
                raise self.fail("T207", "the shape of a constant is ints of 0 or more, known while parsing", node)
        return dims

    def read_constant(self, call: ast.Call, also: tuple[str, ...] = ()) -> tuple[ConstantTensor, dict[str, Any]]:
        """The value of `T.constant(digest, shape, dtype, base64=, file=)`, and the options that a definition has."""
        nodes = self.constant_arguments(call, "constant", (*_CONSTANT_FIELDS, *also), {})
        for field in _CONSTANT_FIELDS[:3]:
            if field not in nodes:
                message = f"`T.constant` takes a digest, a shape and a dtype; the {field} is missing"
                hint = 'T.constant("sha256:…", (64, 64), "float32"); of values `T.allocate_const(values, dtype, shape)`'
                raise self.fail("T032", message, call, hint=hint)
        digest = self.value(nodes["digest"])
        if not isinstance(digest, str):
            hint = f"data stands in `{_EXAMPLE}`"
            raise self.fail("T032", "the digest must be a string known while parsing", nodes["digest"], hint=hint)
        digest = plain_string(digest)
        shape = self.constant_shape(self.value(nodes["shape"]), nodes["shape"])
        sizes = _sizes(shape)
        kind = self.dtype_of(self.value(nodes["dtype"]), nodes["dtype"])
        given = self.constant_options(nodes)
        if kind.is_vector or kind.is_handle or kind.kind == "void":
            raise self.fail("T109", f"a constant holds numbers, not {kind}", nodes["dtype"])
        if "base64" in nodes and "file" in nodes:
            raise self.fail("T032", "a constant is in the text or in a file, not both", nodes["file"])
        if len(sizes) > 32 or any(size >= 1 << 63 for size in sizes):
            raise self.fail("T207", "this is no shape of a constant", nodes["shape"])
        place = next((nodes[field] for field in ("base64", "file") if field in nodes), nodes["digest"])
        try:
            value = ConstantTensor(digest, sizes, kind)
            if "base64" in nodes:
                value = self._inline(value, self.python(nodes["base64"], "`base64`", (str,)), nodes["base64"])
            elif "file" in nodes:
                value = self._filed(value, self.python(nodes["file"], "`file`", (str,)), nodes["file"])
            else:
                value = self._stored(value, nodes["digest"])
        except DiagnosticError as problem:
            raise self.located(problem, place) from None
        return value, given

    def _stored(self, value: ConstantTensor, node: ast.expr) -> ConstantTensor:
        found = None if self.sources.store is None else self.sources.store.get(value.digest)
        if found is not None and (found.shape, found.dtype) != (value.shape, value.dtype):
            raise self.fail("T115", f"the store holds {found} under this digest", node)
        return value.kept() if found is None else found

    def _inline(self, value: ConstantTensor, text: str, node: ast.expr) -> ConstantTensor:
        try:
            data = base64.b64decode(text.translate(_BLANK), validate=True)
        except (binascii.Error, ValueError) as problem:
            raise self.fail("T115", f"the data of the constant is no base64: {problem}", node) from None
        return from_bytes(data, value.digest, value.shape, value.dtype)

    def _filed(self, value: ConstantTensor, name: str, node: ast.expr) -> ConstantTensor:
        try:
            file = self.sources.file(name)
        except ValueError as problem:
            hint = "a file lies beside the text, or deeper: read it with `parse_file`, or `parse(text, folder=...)`"
            raise self.fail("T003", str(problem), node, hint=hint) from None
        found: ConstantTensor = file.read(value.digest, value.shape, value.dtype)
        return found

    def constant_value(self, call: ast.Call) -> ConstantTensor:
        return self.read_constant(call)[0]

    def allocate_const_context(
        self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With
    ) -> None:
        """`with T.allocate_const(...) as K:`, as TVM of 2021 to 2024 has it."""
        if not isinstance(name, ast.Name):
            notes: tuple[Label, ...] = ()
            raise self.fail("T022", "the constant needs a name", call, hint=f"with {_EXAMPLE[4:]} as K:", notes=notes)
        self.check_assignable(name.id, name)
        value, given = self.allocated(call)
        self.define_constant(name, value, given, call, node)
        inner()

    context_forms: ClassVar[dict[str, Callable[..., None]]] = {
        **BlockLowering.context_forms,
        "allocate_const": allocate_const_context,
    }


_BLANK = dict.fromkeys(map(ord, " \t\r\n"))


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape as ints."""
    return tuple([int(dim.value if type(dim) is Const else dim) for dim in shape])


def same_elements(data: tuple[int, ...], shape: tuple[Any, ...]) -> bool:
    """Whether data of one shape may fill a buffer of another: the same, or one of both is flat, of as many elements."""
    sizes = _sizes(shape)
    if data == sizes:
        return True
    return math.prod(data) == math.prod(sizes) and 1 in (len(data), len(sizes))


_VALUE_FORMS["constant"] = ConstantLowering.constant_value
