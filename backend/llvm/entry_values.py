"""Values in a native entry: checks, fields of structs, scalar arguments, shape expressions and results."""

from __future__ import annotations

from collections.abc import Callable

from tirscript.backend.runtime import layout
from tirscript.backend.runtime.layout import ArrayFields, DescrFields, offset
from tirscript.ir import Call, Const, DiagnosticError, DType, Expr, PrimFunc, Var, error

from .builder import FunctionText, ModuleText
from .entry_plan import TABLE, EntryPlan
from .types import call_type

INTEGERS = ("int", "uint")


class Table:
    """The addresses of this process that the entries of a module use, in a global array that is filled when the module
    is loaded."""

    def __init__(self) -> None:
        self.slots: list[str] = []

    def load(self, text: FunctionText, slot: str) -> str:
        """The address in `slot` (see `layout.address`)."""
        if slot not in self.slots:
            self.slots.append(slot)
        return text.op(f"load ptr, ptr {self.place(self.slots.index(slot))}, align 8", "at")

    @staticmethod
    def place(at: int) -> str:
        """The address of a slot by its number."""
        return f"getelementptr inbounds (ptr, ptr @{TABLE}, i64 {at})"

    def names(self, kernel: str, count: int) -> str:
        """The place of `count` slots, one after the other, for the names of a function's parameters."""
        first = len(self.slots)
        self.slots += [f"param:{kernel}:{at}" for at in range(count)]
        return self.place(first)

    def finish(self, module: ModuleText) -> None:
        """Define the table, after the last entry."""
        module.globals.append(f"@{TABLE} = global [{max(1, len(self.slots))} x ptr] zeroinitializer, align 8")


class ValueWriter:
    """Writes the values of one entry."""

    def __init__(self, text: FunctionText, table: Table, plan: EntryPlan) -> None:
        self.text = text
        self.table = table
        self.plan = plan
        self.slow = text.block("slow")
        self.checks: list[str] = []
        self.values: dict[Var, str] = {}  # integer scalars and symbols, as i64

    # small tools

    def check(self, condition: str) -> None:
        """`condition`, an instruction, must hold at the next `require`."""
        self.checks.append(self.text.op(condition, "ok"))

    def require(self) -> None:
        """Leave for the slow path where a check since the last time failed."""
        checks, self.checks = self.checks, []
        if checks:
            fine = checks[0]
            for other in checks[1:]:
                fine = self.text.op(f"and i1 {fine}, {other}", "ok")
            self.leave_unless(fine)

    def leave_unless(self, condition: str, label: str | None = None) -> None:
        """Go on in a new block where the condition holds, else on the slow path (or at `label`)."""
        text = self.text
        bad = text.op(f"xor i1 {condition}, true")
        fine = text.block("fine")
        text.branch(bad, label or self.slow, fine, unlikely=True)
        text.start(fine)

    def field(self, kind: str, base: str, at: int, align: int = 8) -> str:
        """Load a field of a C struct."""
        where = self.text.op(f"getelementptr inbounds i8, ptr {base}, i64 {at}")
        return self.text.op(f"load {kind}, ptr {where}, align {align}", "field")

    def own(self, at: int) -> str:
        """A slot of the function object, which is `%self`."""
        return self.field("ptr", "%self", at)

    def api(self, result: str, name: str, *args: tuple[str, str]) -> str:
        """Call a function of the C API."""
        return self.text.call(result, self.table.load(self.text, f"api:{name}"), args)

    def clear_and_leave(self, failed: str) -> None:
        """Where `failed`, drop the Python exception that is set and take the slow path."""
        text = self.text
        clear, fine = text.block("clear"), text.block("fine")
        text.branch(failed, clear, fine, unlikely=True)
        text.start(clear)
        self.api("void", "PyErr_Clear")
        text.jump(self.slow)
        text.start(fine)

    def is_type(self, value: str, name: str) -> str:
        """Whether the object's type is exactly `name`."""
        kind = self.field("ptr", value, layout.OB_TYPE)
        return self.text.op(f"icmp eq ptr {kind}, {self.table.load(self.text, f'type:{name}')}", "is")

    def is_object(self, value: str, name: str) -> str:
        return self.text.op(f"icmp eq ptr {value}, {self.table.load(self.text, f'object:{name}')}", "is")

    def check_dtype(self, dtype: DType, value: str) -> None:
        """The canonical dtype object, or another of the same number in native byte order (arrays that were unpickled
        have such)."""
        text = self.text
        descr = self.field("ptr", value, offset(ArrayFields, "descr"))
        same = text.op(f"icmp eq ptr {descr}, {self.table.load(text, f'dtype:{dtype.name}')}")
        number = layout.type_number(dtype)
        if number is not None:
            alike = text.op(f"icmp eq i32 {self.field('i32', descr, offset(DescrFields, 'type_num'), 4)}, {number}")
            native = text.op(f"icmp ne i8 {self.field('i8', descr, offset(DescrFields, 'byteorder'), 1)}, {ord('>')}")
            same = text.op(f"or i1 {same}, {text.op(f'and i1 {alike}, {native}')}")
        self.checks.append(same)

    # shape expressions, as i64

    def value(self, expr: Expr) -> str:
        """An integer expression over scalars and symbols, as i64."""
        if type(expr) is Const:
            return str(int(expr.value))
        if type(expr) is Var and expr in self.values:
            return self.values[expr]
        if type(expr) is Var:
            raise unbound_symbol(expr, self.plan.func)
        rule = _SHAPE.get(expr.op.name) if type(expr) is Call else None
        if rule is None:
            raise self.unchecked(expr)
        return rule(self, expr)  # type: ignore[arg-type]

    def unchecked(self, expr: Expr) -> DiagnosticError:
        """An expression that no call can check."""
        message = f"a shape of `{self.plan.func.name}` holds an expression that cannot be checked at a call"
        return DiagnosticError([error("T401", message, expr.span or self.plan.func.span)])

    def divide(self, instruction: str, a: str, b: str) -> str:
        """A division that cannot trap: a zero divisor, and the one overflow, take the slow path."""
        text = self.text
        if not b.lstrip("-").isdigit() or b in ("0", "-1"):
            wrong = text.op(f"icmp eq i64 {b}, 0")
            least = text.op(f"icmp eq i64 {a}, {-(1 << 63)}")
            minus = text.op(f"icmp eq i64 {b}, -1")
            wrong = text.op(f"or i1 {wrong}, {text.op(f'and i1 {least}, {minus}')}")
            self.check(f"xor i1 {wrong}, true")
            b = text.select(wrong, "i64", "1", b)
        return text.op(f"{instruction} i64 {a}, {b}")

    def floor_divide(self, a: str, b: str) -> str:
        text = self.text
        quotient = self.divide("sdiv", a, b)
        rest = text.op(f"sub i64 {a}, {text.op(f'mul i64 {quotient}, {b}')}")
        signs = text.op(f"icmp slt i64 {text.op(f'xor i64 {rest}, {b}')}, 0")
        down = text.op(f"and i1 {signs}, {text.op(f'icmp ne i64 {rest}, 0')}")
        return text.op(f"add i64 {quotient}, {text.op(f'sext i1 {down} to i64')}")

    def shared(self, name: str) -> str:
        """A new reference to a constant object."""
        value = self.table.load(self.text, f"object:{name}")
        self.api("void", "Py_IncRef", ("ptr", value))
        return value

    def narrow(self, value: str, dtype: DType) -> str:
        """An i64 as the integer type of a symbol."""
        kind = call_type(dtype)
        if kind == "i64" or not value.startswith("%"):
            return value
        return self.text.op(f"trunc i64 {value} to {kind}")

    def result(self, out: str, dtype: DType) -> str:
        """The scalar in `out` as a new Python object."""
        text = self.text
        if dtype.is_float:
            return self.api("ptr", "PyFloat_FromDouble", ("double", self.widen_float(out, dtype)))
        raw = text.op(f"load {call_type(dtype)}, ptr {out}, align 8")
        if dtype.bits == 64:
            name = "PyLong_FromLongLong" if dtype.is_signed else "PyLong_FromUnsignedLongLong"
            return self.api("ptr", name, ("i64", raw))
        wide = text.op(f"{'sext' if dtype.is_signed else 'zext'} {call_type(dtype)} {raw} to i64")
        return self.api("ptr", "PyBool_FromLong" if dtype.is_bool else "PyLong_FromLongLong", ("i64", wide))

    def widen_float(self, out: str, dtype: DType) -> str:
        """The float of `dtype` in memory at `out`, as a double."""
        text = self.text
        if dtype.name == "float64":
            return text.op(f"load double, ptr {out}, align 8")
        if dtype.name == "float32":
            return text.op(f"fpext float {text.op(f'load float, ptr {out}, align 8')} to double")
        if dtype.name == "float16":
            return self.unpack_half(out)
        bits = text.op(f"load {call_type(dtype)}, ptr {out}, align 8")
        if dtype.name == "bfloat16":
            wide = text.op(f"shl i32 {text.op(f'zext i16 {bits} to i32')}, 16")
            return text.op(f"fpext float {text.op(f'bitcast i32 {wide} to float')} to double")
        half = text.op(f"zext i8 {bits} to i16")
        if dtype.name == "float8_e5m2":  # the upper byte of a half
            text.do(f"store i16 {text.op(f'shl i16 {half}, 8')}, ptr {out}, align 8")
            return self.unpack_half(out)
        magnitude = text.op(f"and i16 {half}, 127")
        sign = text.op(f"shl i16 {text.op(f'and i16 {half}, 128')}, 8")
        body = text.op(f"or i16 {sign}, {text.op(f'shl i16 {magnitude}, 7')}")
        text.do(f"store i16 {body}, ptr {out}, align 8")
        value = text.op(f"fmul double {self.unpack_half(out)}, {_HALF_BIAS}")
        return text.select(text.op(f"icmp eq i16 {magnitude}, 127"), "double", "0x7FF8000000000000", value)

    def unpack_half(self, where: str) -> str:
        return self.api("double", "PyFloat_Unpack2", ("ptr", where), ("i32", "1"))

    # scalar arguments; each returns (type, value) as the kernel takes it

    def integer(self, value: str, param: Var) -> tuple[str, str]:
        text, dtype = self.text, param.dtype
        kind = call_type(dtype)
        if dtype.name == "uint64":
            wide = self.api("i64", "PyLong_AsUnsignedLongLong", ("ptr", value))
            maybe, fine = text.block("maybe"), text.block("fine")
            text.branch(text.op(f"icmp eq i64 {wide}, -1"), maybe, fine, unlikely=True)
            text.start(maybe)
            raised = self.api("ptr", "PyErr_Occurred")
            self.clear_and_leave(text.op(f"icmp ne ptr {raised}, null"))
            text.start(fine)
            self.values[param] = wide
            return kind, wide
        flag = text.alloca("i32", 4, "overflow")
        wide = self.api("i64", "PyLong_AsLongLongAndOverflow", ("ptr", value), ("ptr", flag))
        self.check(f"icmp eq i32 {text.op(f'load i32, ptr {flag}, align 4')}, 0")
        self.values[param] = wide
        if dtype.bits == 64:
            return kind, wide
        narrow = text.op(f"trunc i64 {wide} to {kind}")
        back = text.op(f"{'sext' if dtype.is_signed else 'zext'} {kind} {narrow} to i64")
        self.check(f"icmp eq i64 {wide}, {back}")
        return kind, narrow

    def floating(self, value: str, param: Var) -> tuple[str, str]:
        """float64 and float32 at once; of the narrower ones those values that they hold exactly: the slow path rounds
        the others."""
        text, name = self.text, param.dtype.name
        double = self.field("double", value, layout.FLOAT_VALUE)
        if name == "float64":
            return "double", double
        if name == "float32":
            return "float", text.op(f"fptrunc double {double} to float")
        if name == "bfloat16":
            single = text.op(f"fptrunc double {double} to float")
            bits = text.op(f"bitcast float {single} to i32")
            exact = text.op(f"fcmp ueq double {text.op(f'fpext float {single} to double')}, {double}")
            short = text.op(f"icmp eq i32 {text.op(f'and i32 {bits}, 65535')}, 0")
            nan = text.op(f"fcmp uno double {double}, {double}")
            self.check(f"and i1 {exact}, {text.op(f'or i1 {short}, {nan}')}")
            return "i16", text.op(f"trunc i32 {text.op(f'lshr i32 {bits}, 16')} to i16")
        if name == "float8_e4m3fn":
            scaled = text.op(f"fdiv double {double}, {_HALF_BIAS}")
            half = self.pack_half(scaled)
            magnitude = text.op(f"and i16 {half}, 32767")
            nan = text.op(f"fcmp uno double {double}, {double}")
            short = text.op(f"icmp eq i16 {text.op(f'and i16 {half}, 127')}, 0")
            small = text.op(f"icmp ult i16 {magnitude}, {0x7F << 7}")
            self.check(f"or i1 {nan}, {text.op(f'and i1 {short}, {small}')}")
            sign = text.op(f"and i16 {text.op(f'lshr i16 {half}, 8')}, 128")
            body = text.select(nan, "i16", "127", text.op(f"lshr i16 {magnitude}, 7"))
            return "i8", text.op(f"trunc i16 {text.op(f'or i16 {sign}, {body}')} to i8")
        half = self.pack_half(double)
        if name == "float16":
            return "i16", half
        self.check(f"icmp eq i16 {text.op(f'and i16 {half}, 255')}, 0")
        return "i8", text.op(f"trunc i16 {text.op(f'lshr i16 {half}, 8')} to i8")

    def pack_half(self, double: str) -> str:
        """A double rounded to the bits of a half; where it is too large, the slow path makes it infinite."""
        text = self.text
        where = text.alloca("i16", 2, "half")
        failed = self.api("i32", "PyFloat_Pack2", ("double", double), ("ptr", where), ("i32", "1"))
        self.clear_and_leave(text.op(f"icmp ne i32 {failed}, 0"))
        return text.op(f"load i16, ptr {where}, align 2")

    def boolean(self, value: str, param: Var) -> tuple[str, str]:
        flag = self.is_object(value, "True")
        self.values[param] = self.text.op(f"zext i1 {flag} to i64")
        return "i8", self.text.op(f"zext i1 {flag} to i8")

    def handle(self, value: str, param: Var) -> tuple[str, str]:
        """A bare pointer: the data of an array without gaps, or None for null."""
        text, pointee = self.text, param.dtype.pointee
        self.require()
        array, after = text.block("array"), text.block("after")
        from_none = text.label
        text.branch(self.is_object(value, "None"), after, array)
        text.start(array)
        wanted = layout.C_CONTIGUOUS | (layout.WRITEABLE if param in self.plan.written else 0)
        if pointee is not None and pointee.kind != "void":
            self.check_dtype(pointee.element, value)
            wanted |= layout.ALIGNED
        else:  # the addresses of objects are no numbers, and records may hold some
            descr = self.field("ptr", value, offset(ArrayFields, "descr"))
            number = self.field("i32", descr, offset(DescrFields, "type_num"), 4)
            for kind in (layout.OBJECTS, layout.RECORDS):
                self.check(f"icmp ne i32 {number}, {kind}")
        have = text.op(f"and i32 {self.field('i32', value, offset(ArrayFields, 'flags'), 4)}, {wanted}")
        self.check(f"icmp eq i32 {have}, {wanted}")
        self.require()
        data = self.field("ptr", value, offset(ArrayFields, "data"))
        from_array = text.label
        text.jump(after)
        text.start(after)
        return "ptr", text.phi("ptr", (data, from_array), ("null", from_none))


def unbound_symbol(var: Var, func: PrimFunc) -> DiagnosticError:
    """No argument of a call tells the value of a symbolic dimension."""
    message = f"no argument of `{func.name}` gives the symbolic dimension `{var.name}` a value"
    hint = "use it alone as one dimension of a parameter, or make it a scalar parameter"
    return DiagnosticError([error("T206", message, var.span or func.span, hint=hint)])


_HALF_BIAS = "2.56e+02"  # 2 to the difference of the exponent biases of float16 (15) and float8_e4m3fn (7)

SCALARS: dict[str, Callable[[ValueWriter, str, Var], tuple[str, str]]] = {
    "int": ValueWriter.integer,
    "uint": ValueWriter.integer,
    "bool": ValueWriter.boolean,
    "float": ValueWriter.floating,
    "bfloat": ValueWriter.floating,
    "float8": ValueWriter.floating,
    "handle": ValueWriter.handle,
}


def _plain(instruction: str) -> Callable[[ValueWriter, Call], str]:
    return lambda writer, call: writer.text.op(
        f"{instruction} i64 {writer.value(call.args[0])}, {writer.value(call.args[1])}"
    )


def _extreme(predicate: str) -> Callable[[ValueWriter, Call], str]:
    def rule(writer: ValueWriter, call: Call) -> str:
        a, b = map(writer.value, call.args)
        return writer.text.select(writer.text.op(f"icmp {predicate} i64 {a}, {b}"), "i64", a, b)

    return rule


def _floormod(writer: ValueWriter, call: Call) -> str:
    a, b = map(writer.value, call.args)
    return writer.text.op(f"sub i64 {a}, {writer.text.op(f'mul i64 {writer.floor_divide(a, b)}, {b}')}")


def _ceildiv(writer: ValueWriter, call: Call) -> str:
    a, b = map(writer.value, call.args)
    return writer.text.op(f"sub i64 0, {writer.floor_divide(writer.text.op(f'sub i64 0, {a}'), b)}")


def _cast(writer: ValueWriter, call: Call) -> str:
    value, to = writer.value(call.args[0]), call.dtype
    if to.bits == 64 or not to.is_int or not value.startswith("%"):
        return value
    narrow = writer.text.op(f"trunc i64 {value} to i{to.bits}")
    return writer.text.op(f"{'sext' if to.is_signed else 'zext'} i{to.bits} {narrow} to i64")


def _select(writer: ValueWriter, call: Call) -> str:
    condition = _condition(writer, call.args[0])
    yes, no = map(writer.value, call.args[1:])
    return writer.text.select(condition, "i64", yes, no)


def _condition(writer: ValueWriter, expr: Expr) -> str:
    """A comparison of shape expressions, or several, as i1."""
    if type(expr) is Const:
        return "true" if expr.value else "false"
    name = expr.op.name if type(expr) is Call else ""
    if type(expr) is Call and name in _PREDICATES and expr.args[0].dtype.is_int:
        a, b = map(writer.value, expr.args)
        return writer.text.op(f"icmp {_PREDICATES[name]} i64 {a}, {b}")
    if type(expr) is Call and name in ("logical_and", "logical_or"):
        first, second = (_condition(writer, one) for one in expr.args)
        return writer.text.op(f"{name.removeprefix('logical_')} i1 {first}, {second}")
    if type(expr) is Call and name == "logical_not":
        return writer.text.op(f"xor i1 {_condition(writer, expr.args[0])}, true")
    raise writer.unchecked(expr)


_PREDICATES = {
    "less": "slt",
    "less_equal": "sle",
    "greater": "sgt",
    "greater_equal": "sge",
    "equal": "eq",
    "not_equal": "ne",
}
_SHAPE: dict[str, Callable[[ValueWriter, Call], str]] = {
    "if_then_else": _select,
    "Select": _select,
    "add": _plain("add"),
    "sub": _plain("sub"),
    "mul": _plain("mul"),
    "bitwise_and": _plain("and"),
    "bitwise_or": _plain("or"),
    "bitwise_xor": _plain("xor"),
    "negative": lambda writer, call: writer.text.op(f"sub i64 0, {writer.value(call.args[0])}"),
    "min": _extreme("slt"),
    "max": _extreme("sgt"),
    "floordiv": lambda writer, call: writer.floor_divide(*map(writer.value, call.args)),
    "floormod": _floormod,
    "ceildiv": _ceildiv,
    "truncdiv": lambda writer, call: writer.divide("sdiv", *map(writer.value, call.args)),
    "truncmod": lambda writer, call: writer.divide("srem", *map(writer.value, call.args)),
    "cast": _cast,
}
