"""What each diagnostic code means, with a program or a call that gives it: the contents of docs/codes.md.

`text` is a program that is parsed as `kernel.py`; `call` is Python that is run after it, with the parsed function or
module under its name and what `NAMES` holds. `docs/make_codes.py` runs them, and so does a test.
"""

from __future__ import annotations

from code_examples_graph import GRAPH, Example


def kernel(*lines: str, params: str = 'A: T.Buffer((4,), "float32")', returns: str = "") -> str:
    """The text of a kernel with this body."""
    return f"@T.prim_func\ndef kernel({params}){returns}:\n" + "".join(f"    {line}\n" for line in lines)


TWO = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
INTS = 'A: T.Buffer((4,), "int32")'
GATHER = kernel(
    "for i in range(4):",
    "    B[i] = A[index[i]]",
    params='A: T.Buffer((8,), "float32"), index: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")',
)
COPY = kernel("for i in range(4):", "    B[i] = A[i]", params=TWO)
SUM = kernel(
    "for k in range(4):",
    '    with T.block("C"):',
    "        vk = T.axis.reduce(4, k)",
    "        with T.init():",
    "            B[0] = 0.0",
    "        B[0] += A[vk]",
    params=TWO,
)
ZEROS = "tirscript.interpret(kernel, zeros(4))"

LINT = r'print(*lint(kernel), sep="\n\n")'

EXAMPLES: dict[str, Example] = {
    "T001": Example(
        "The text is not Python, so nothing of it can be read. The message is that of Python's own parser, and the "
        "place is where it gave up: the mistake stands there or shortly before. A missing colon or bracket, tabs mixed "
        "with blanks, and `i++` or `&&` of other languages are the usual causes.",
        kernel("for i in range(4)", "    A[i] = 1.0"),
    ),
    "T002": Example(
        "A decorator such as `@T.prim_func` reads the text of the function below it, and here there is none: the "
        "function was made by `exec`, or its file has moved. Put the function in a file or a notebook cell, register "
        "the text in `linecache`, or pass the text itself to `tirscript.parse`.",
        call="""\
text = "@T.prim_func\\ndef kernel(A: T.Buffer((4,), 'float32')):\\n    A[0] = 1.0\\n"
exec(compile(text, "kernel.py", "exec"))
""",
    ),
    "T003": Example(
        "`parse` reads text and never runs it, so that a kernel from anywhere can be read without risk. Only the names "
        "of `T`, `I` and `G` and a few harmless builtins are there; other imports, calls and attributes are refused. "
        "Pass values in with `parse(text, names={...})`, or use the decorator in your own Python, which is trusted.",
        "import os\n\n\n" + kernel("A[0] = 1.0"),
    ),
    "T004": Example(
        "What the program would make while it is parsed is beyond every use: an integer of a million digits, a loop "
        "over a Python sequence that writes out a hundred thousand statements, a macro that calls itself. The limits "
        "keep a hostile or mistaken text from filling the memory. Use `range` for a loop that stays a loop.",
        kernel("A[9**9**9] = 1.0"),
    ),
    "T010": Example(
        "The name is defined nowhere that this line can see: not in the function, its parameters, the module, nor (with"
        " the decorator) in the Python around it. Check the spelling; functions of the language have the prefix `T.`, "
        "and a symbolic dimension is a string in a shape or `n = T.int64()`.",
        kernel("for i in range(4):", "    A[i] = exp(A[i])"),
    ),
    "T011": Example(
        "The name has a value only in another place: in one branch of an `if`, inside of a loop, or further down. "
        "Python would fail at run time, for some inputs only; here it is a mistake at once. Assign the name before, at "
        "this level or an outer one, or in every branch.",
        kernel("if A[0] > 0.0:", "    scale = A[0]", "A[1] = scale"),
    ),
    "T012": Example(
        "What stands on the left cannot be assigned. Loop variables and parameters keep their values, so that passes "
        "may rely on them; a buffer is written element by element, in a loop, never as a whole. Use another name, or "
        "index the buffer.",
        kernel("A = 1.0"),
    ),
    "T020": Example(
        "The statement is Python, but not part of the language: there are no exceptions, classes, imports or nested "
        "functions in a kernel, and a value that nothing uses is a mistake rather than a statement. The help names the "
        "construct that does what is probably meant.",
        kernel("try:", "    A[0] = 1.0", "except ValueError:", "    pass"),
    ),
    "T021": Example(
        "The expression is Python, but not part of the language: `lambda` outside of an index map, `yield`, `await`, "
        "sets, complex numbers, `is` and `in` on values that are known only when the kernel runs. Say it with loops, "
        "comparisons and operators of `T`.",
        kernel("scale = lambda x: x * 2.0"),
    ),
    "T022": Example(
        "The construct exists, but not in this place or form: `T.reads` outside of a block, `break` outside of a loop, "
        "a buffer after `return`. The help shows where it stands or how it is written.",
        kernel("return A"),
    ),
    "T030": Example(
        "Buffers, values and modules have few attributes, and this is none of them. An element is a plain number: its "
        "functions are those of `T`, as in `T.exp(A[i])`, and its conversion is `A[i].astype(...)`. A buffer has no "
        "methods that compute; write the loop.",
        kernel("A[0] = A.sum()"),
    ),
    "T031": Example(
        "`T` has no function or construct of this name. The help shows the nearest name, or what does the same here "
        "where the name comes from numpy, torch, Triton or TVM.",
        kernel("for i in range(4):", "    A[i] = T.exq(A[i])"),
    ),
    "T032": Example(
        "The construct does not take these arguments: one is missing, misspelt, given twice, or of another kind than "
        "it needs. The message says what it takes, and the help shows how it is written.",
        kernel("for i, j in T.grid(4):", "    A[i] = 1.0"),
    ),
    "T033": Example(
        "Python that is known while parsing (lists, f-strings, calls of your own functions) runs once, when the kernel "
        "is read. It failed there, or it was given a value that exists only when the kernel runs. Use the functions of "
        "`T` and real loops for such values.",
        kernel("for i in range(len(A)):", "    A[i] = 0.0"),
    ),
    "T040": Example(
        "A kernel takes a fixed list of arguments, because native code is called with exactly these. Default values, "
        "`*args`, `**kwargs` and keyword-only parameters would be dropped silently, so they are refused. Give every "
        "argument at the call, or wrap the kernel in a Python function that has the defaults.",
        kernel("A[0] = scale", params='A: T.Buffer((4,), "float32"), scale: T.float32 = 1.0'),
    ),
    "T041": Example(
        "Every parameter says what it is: a buffer with its shape and dtype, a scalar dtype, or a handle. A kernel is "
        "compiled for these, so a missing annotation or a Python type like `list` leaves it undecided.",
        kernel("A[0] = 1.0", params="A"),
    ),
    "T101": Example(
        "An operator or function got more or fewer arguments than it takes. `T.min` and `T.max` take two; nest them "
        "for more. Functions of a module take one argument for each of their parameters.",
        kernel("A[0] = T.min(A[1], A[2], A[3])"),
    ),
    "T102": Example(
        "A condition must be a bool. Python would take any number and ask whether it is zero; in a kernel that hides "
        "mistakes such as `if A[i]` where `if A[i] > 0` was meant. Write the comparison.",
        kernel("if A[0]:", "    A[0] = 1.0"),
    ),
    "T103": Example(
        "A literal takes the dtype of what it stands beside, and this one is outside of that dtype's range. Cutting it "
        "off silently would change the program. Use a wider dtype, or write the wrapped value if that is meant.",
        kernel("A[0] = A[0] + 200", params='A: T.Buffer((4,), "int8")'),
    ),
    "T104": Example(
        "A value of the program is one number (or one vector of numbers). A whole buffer, a list, a string, a dtype or "
        "a function is none. To compute with a buffer, take its elements inside of a loop.",
        kernel("A[0] = B + 1.0", params=TWO),
    ),
    "T105": Example(
        "The operator is not defined for this dtype: `/` and `T.exp` are for floats, shifts and bit operations for "
        "integers, `not` for bools. The language does not convert silently, because the result would differ from what "
        "another reader expects. Cast the operand, or use the operator for its dtype, such as `//`.",
        kernel("A[0] = A[0] / 2", params=INTS),
    ),
    "T106": Example(
        "Two vectors meet lane by lane, so both need the same number of lanes. A scalar beside a vector is repeated in "
        "every lane. Make the slices or ramps equally long.",
        kernel("B[0:4] = A[0:4] + A[0:2]", params='A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")'),
    ),
    "T107": Example(
        "The two operands have dtypes of which neither holds the values of the other: signed with unsigned integers, "
        "float16 with bfloat16. Any choice would lose values silently, so the program makes it: cast one of them.",
        kernel("A[0] = A[0] + B[0]", params='A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "uint32")'),
    ),
    "T108": Example(
        "There is no conversion between these dtypes: a pointer is not a number, and `T.reinterpret` takes the bits of "
        "a value as another dtype of the same size only.",
        kernel(
            'A[0] = T.reinterpret("float32", B[0])', params='A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int64")'
        ),
    ),
    "T109": Example(
        "This is not the name of an element type. They are bool, int8 to int64, uint8 to uint64, float16, bfloat16, "
        "float32, float64, float8_e4m3fn and float8_e5m2, each with lanes where wanted (`float32x8`), as a string or "
        "as a name of `T`. TVM's others, such as int4, may stand in programs that are not run.",
        kernel('C = T.alloc_buffer((4,), "flaot32")', "C[0] = A[0]"),
    ),
    "T110": Example(
        "The value would lose something in its place: a float stored into an integer buffer, int64 into int32, float64 "
        "into float32. C and TVM cut it silently. Cast it where that is meant, or widen the place.",
        kernel("A[0] = 0.5", params=INTS),
    ),
    "T111": Example(
        "A buffer is indexed by exactly one index for each of its dimensions; there is no row `A[i]` of a matrix as in "
        "numpy. All indices stand in one pair of brackets.",
        kernel("A[0] = 1.0", params='A: T.Buffer((4, 4), "float32")'),
    ),
    "T112": Example(
        "Indices, bounds of loops and domains of axes are integers. A float there usually comes from `/`, whose result "
        "is a float, where `//` was meant.",
        kernel("for i in range(4):", "    A[i * 0.5] = 1.0"),
    ),
    "T113": Example(
        "The buffer has no such element, and the program certainly asks for it. Indices do not wrap around: `A[-1]` is "
        "not the last element. Native code checks no indices unless it is built with `debug=True`, so this would "
        "read or write foreign memory. An index that is a number is told when the program is read; one of loops whose "
        "ranges are numbers, as in `for i in range(5): A[i] = 1.0`, when it is built: for which iteration, unless a "
        "condition or a way out of the function is around it or before it.",
        kernel("A[4] = 1.0"),
    ),
    "T114": Example(
        "The data of a constant is not what its declaration says: another dtype or shape, lists of unequal lengths, a "
        "number that its dtype does not hold, or no numbers at all. Nothing is converted silently, since a weight that "
        "changed is a bug that nobody sees. Convert the array before: `array.astype(...)`, `array.reshape(...)`.",
        kernel('K = T.allocate_const([[1, 2], [3]], "int32", (2, 2))', "A[0] = K[0, 0]", params=INTS),
    ),
    "T115": Example(
        "A constant is known by the digest of its data, and what the text, the file or the store has under that digest "
        "is something else, is cut off, or is not there. The data was damaged or exchanged after the program was "
        "written. Write it again from the original, or take the file that belongs to the text.",
        kernel(
            "K = T.constant(",
            f'    "sha256:{"0" * 64}", (2,), "int32", base64="AAAAAAAAAAA="',
            ")",
            "A[0] = K[0]",
            params=INTS,
        ),
    ),
    "T201": Example(
        "A variable or buffer is used where its definition does not reach: outside of the body that defines it, before "
        "it, or nothing defines it at all. Text cannot say this; it is found in programs that a pass or your own code "
        "has built. Move the definition to a body around all uses.",
        call="""\
stray = ir.Buffer("C", (ir.const(4),))
store = ir.BufferStore(stray, (ir.const(0),), ir.const(1.0))
ir.check_well_formed(ir.PrimFunc("kernel", (), (store,)))
""",
    ),
    "T202": Example(
        "Two definitions have one name in one scope, so that the second would hide the first: two functions of a "
        "module, two loops of one `T.grid`, two inits of a block. Rename or remove one.",
        kernel("for i, i in T.grid(4, 4):", "    A[i] = 1.0"),
    ),
    "T203": Example(
        "The axes of a block say which iterations it has, and their values say which of these the loops around it run. "
        "Here both do not agree: the loops leave the domain of an axis, do not fill it, or the body uses a loop "
        "variable past the axes, so that a schedule that moves the block would change its meaning. Bind each loop to "
        "an axis of its extent, or say with `T.where` which iterations run.",
        kernel(
            "for i in range(5):",
            '    with T.block("fill"):',
            "        vi = T.axis.spatial(4, i)",
            "        A[vi] = 1.0",
        ),
    ),
    "T204": Example(
        "Two parts of the program that belong together have different dtypes: an argument and the parameter it is for, "
        "a returned value and the annotation, a view and the memory it matches. Cast the value, or correct the "
        "declaration.",
        kernel('C = T.match_buffer(A[0:2], (2,), "int32")', "C[0] = 1"),
    ),
    "T205": Example(
        "The scope of a buffer says where its memory is: global, local, shared, warp and those that a target adds, "
        "which have a dot in their names. This one is unknown.",
        kernel('C = T.alloc_buffer((4,), scope="sharde")', "C[0] = A[0]"),
    ),
    "T206": Example(
        "The value of a symbolic dimension comes from the shape of an argument, where it stands alone as a dimension. "
        "This one stands alone nowhere, so that nothing tells its value at the call. Use it alone in some shape, or "
        "make it a scalar parameter.",
        kernel("A[0] = 1.0", params='A: T.Buffer(("n * 2",), "float32")'),
    ),
    "T207": Example(
        "A shape, its strides or its alignment do not make sense: a dimension that is negative or no integer, strides "
        "for another number of dimensions, an alignment that is no power of two.",
        kernel("C = T.alloc_buffer((4.5,))", "C[0] = A[0]"),
    ),
    "T208": Example(
        "Memory of the function is read, and nothing in the program ever writes it, so that the values are whatever "
        "was there before. Write it first, or leave it out.",
        kernel('C = T.alloc_buffer((4,), "float32")', "A[0] = C[0]"),
    ),
    "T209": Example(
        "The iterations of a parallel loop run at once, and this one writes a variable that all of them share: the "
        "result depends on which comes last. Declare the variable inside of the loop, keep one partial result for each "
        "iteration, or make the loop serial. For an element of a buffer with a constant index it is a warning.",
        kernel("total: T.float32 = 0.0", "for i in T.parallel(4):", "    total = total + A[i]", "A[0] = total"),
    ),
    "T210": Example(
        "A part of the program is not what it can be: a loop of an unknown kind, an attribute that no text can say, a "
        "constant outside of its dtype. Such programs come from code that builds nodes by hand or from a faulty pass.",
        call="""\
var = ir.Var("i", ir.dtype("int32"))
loop = ir.For(var, ir.const(0), ir.const(4), (), kind="paralel")
ir.check_well_formed(ir.PrimFunc("kernel", (), (loop,)))
""",
    ),
    "T211": Example(
        "A warning: an axis of a block is never used in it, so that all its iterations do the same work. Usually an "
        "index is misspelt. `tirscript lint` tells it; the program is legal.",
        kernel(
            "for i, j in T.grid(4, 4):",
            '    with T.block("fill"):',
            '        vi, vj = T.axis.remap("SS", [i, j])',
            "        A[vi, vi] = 1.0",
            params='A: T.Buffer((4, 4), "float32")',
        ),
        "for warning in warnings(kernel):\n    print(warning)\n",
    ),
    "T212": Example(
        "A warning: the bindings of a block are legal and look exchanged or doubled: `vi` bound to `j` and `vj` to "
        "`i`, two axes bound to one loop, a `T.init` in a block that reduces nothing, kinds of axes that the "
        "stores contradict.",
        kernel(
            "for i, j in T.grid(4, 4):",
            '    with T.block("fill"):',
            '        vi, vj = T.axis.remap("SS", [j, i])',
            "        A[vi, vj] = 1.0",
            params='A: T.Buffer((4, 4), "float32")',
        ),
        "for warning in warnings(kernel):\n    print(warning)\n",
    ),
    "T213": Example(
        "A constant is part of the program and shared by all programs that have it: nothing may write it, itself, "
        "through a view, or in a function that it is passed to. Copy it into a buffer of `T.alloc_buffer`, and write "
        "that.",
        kernel('K = T.allocate_const([1, 2], "int32", (2,))', "K[0] = A[0]", params=INTS),
    ),
    **GRAPH,
    "T301": Example(
        "The arguments of the call are not what the kernel declares: their number, dtype, shape, strides, alignment or "
        "whether they can be written. Native code would read foreign memory, so every call is checked. Convert the "
        "array, or declare the parameter as what is passed.",
        COPY,
        "tirscript.build(kernel)(zeros(4), zeros(5))",
    ),
    "T302": Example(
        "The running program touched an element that its buffer does not have. The notes show the values of the loop "
        "variables at that moment. The interpreter always checks this, native code where it is built with "
        "`debug=True`.",
        GATHER,
        'tirscript.interpret(kernel, zeros(8), np.array([0, 7, 8, 1], "int32"), zeros(4))',
    ),
    "T303": Example(
        "The interpreter read an element of memory to which nothing was stored before. In native code it would be "
        "whatever stood there, another value in each run. Write the element first; a reduction starts with a "
        "`T.init` or a store.",
        kernel('C = T.alloc_buffer((4,), "float32")', "C[1] = 1.0", "for i in range(4):", "    A[i] = C[i]"),
        ZEROS,
    ),
    "T304": Example(
        "An integer was divided by zero, or a loop has a step of zero, which would never end. The processor would stop "
        "the whole process, so the interpreter and checked builds report it; a division by a literal 0 that is "
        "certain to be computed is reported when the program is read. Guard the division with a condition.",
        kernel("A[0] = 7 // A[0]", params=INTS),
        'tirscript.interpret(kernel, zeros(4, dtype="int32"))',
    ),
    "T305": Example(
        "Two arguments of the call share memory, and the kernel writes one of them. It was compiled on the promise "
        "that they are apart, which is what makes it fast, and the interpreter refuses what native code does. Pass a "
        "copy of one, or declare that they may overlap with `noalias` set to False.",
        COPY,
        "a = zeros(8)\ntirscript.build(kernel)(a[0:4], a[2:6])",
    ),
    "T306": Example(
        "`T.undef` is any value: it may be stored and computed with, where the result does not matter. Here something "
        "that can be seen from outside depends on it: a branch, an index, or an output of the kernel.",
        kernel('x = T.undef("float32")', "if x > 0.0:", "    A[0] = 1.0"),
        ZEROS,
    ),
    "T307": Example(
        "A function that is called by name exists nowhere: not in the module, not among the registered library "
        "functions, not as a C symbol of this process. Check the name, or register it with "
        "`tirscript.register_library`.",
        kernel('T.call_packed("lib.fill", A.data)'),
        ZEROS,
    ),
    "T308": Example(
        "The interpreter runs the meaning of a program on a CPU, one statement after another. What only another "
        "machine can do (barriers of a GPU, LLVM intrinsics, matrix fragments) is read and kept, but not run.",
        kernel('T.evaluate(T.tvm_storage_sync("shared"))'),
        ZEROS,
    ),
    "T309": Example(
        "The interpreter was given a limit of steps, and the program passed it, or calls were nested more than 2,000 "
        "deep, interpreted or in compiled code. Look for a loop whose condition never becomes false or a recursion "
        "that does not end, or raise `max_steps`.",
        kernel("while A[0] == 0.0:", "    A[1] = 1.0"),
        "tirscript.interpret(kernel, zeros(4), max_steps=1000)",
    ),
    "T310": Example(
        "An `assert` of the kernel did not hold. It is raised as Python's `AssertionError`, with the values that the "
        "condition looked at. Where the compiler proves the condition, the check costs nothing.",
        kernel('assert A[0] > 0.0, "the scale is positive"'),
        ZEROS,
    ),
    "T311": Example(
        "The function says that it returns a value, and its end was reached without a `return`. Return a value on "
        "every way through the function.",
        kernel("if A[0] > 0.0:", "    return 1", returns=" -> T.int32"),
        ZEROS,
    ),
    "T312": Example(
        "The program names a constant by its digest only, and no program or store of this process has the data. Such a "
        "program is printed, compared and transformed, but cannot run. Every missing digest is named. Load the data: "
        '`ConstantStore.load("model.safetensors")`, and pass the store to `parse(text, constants=store)`.',
        kernel(f'K = T.constant("sha256:{"0" * 64}", (2,), "int32")', "A[0] = K[0]", params=INTS),
        'tirscript.interpret(kernel, zeros(4, dtype="int32"))',
    ),
    "T401": Example(
        "A pass or the code generator met a construct that another pass must lower first: the passes were run in "
        "another order, or one was left out. The help names it.",
        kernel(
            "for i in range(4):",
            '    with T.block("fill"):',
            "        vi = T.axis.spatial(4, i)",
            "        A[vi] = 1.0",
        ),
        'tirscript.build(kernel, pipeline="flatten_buffer")',
    ),
    "T402": Example(
        "The target cannot run this: a loop bound to threads of a GPU on a CPU, a target without a backend, a "
        "breakpoint in native code. Change the construct, or interpret the program.",
        kernel('for i in T.thread_binding(4, thread="threadIdx.x"):', "    A[i] = 1.0"),
        "tirscript.build(kernel)",
    ),
    "T403": Example(
        "`T.static_assert` holds only where it is proved while compiling, and here it is false or not known. Check it "
        "at run time with `assert`, or say what is known of the variables with `T.assume`.",
        kernel('T.static_assert(4 % 3 == 0, "tiles of three")'),
    ),
    "T404": Example(
        "There is no pass of this name, or it has no such option, or an option has another type. All passes are in "
        "`tirscript.passes.PASSES`.",
        COPY,
        'passes.get_pass("simplfy")(kernel)',
    ),
    "T405": Example(
        "The program holds something that no text can say, or that the chosen dialect cannot. Our own dialect says "
        "every program that text can make; TVM's has no word for a few constructs.",
        kernel('A[0] = T.undef("float32")'),
        'kernel.script(dialect="tvm")',
    ),
    "T499": Example(
        "Not your program failed, but what works on it: a pass or the code generator raised an exception or made an "
        "illegal program. The message names the component. Of a pass of your own it says where it is defined; please "
        "report all others with the program. Leaving the pass out may be a way around it.",
        COPY,
        """\
@passes.prim_func_pass()
def faulty(func: ir.PrimFunc) -> ir.PrimFunc:
    \"\"\"A pass with a mistake.\"\"\"
    return func.body[4]


faulty(kernel)
""",
    ),
    "T501": Example(
        "A step of a schedule would change what the program means, or cannot be made on it. The message names the step "
        "and the condition that fails, the place is in the program as it is now, and the schedule is as it was before.",
        SUM,
        'tirscript.Schedule(kernel).parallel("k")',
    ),
    "T502": Example(
        "A step of a schedule names a block, a loop or a function that is not there, or holds the handle of a loop "
        "that an earlier step took away. Steps that replace a loop return handles of the new ones.",
        SUM,
        'tirscript.Schedule(kernel).get_loops("c")',
    ),
    "T503": Example(
        "A step of a schedule got an argument of the wrong kind, or too many or too few; or a text is not a trace.",
        SUM,
        'tirscript.Schedule(kernel).split("k", factors=[None, None])',
    ),
    "T504": Example(
        "`undo` takes back the last step of a schedule that changed the program, and there is none: either nothing was "
        "done yet, or all of it is taken back. `reset` takes a mark of this schedule whose steps are still its first "
        "ones.",
        SUM,
        "tirscript.Schedule(kernel).undo()",
    ),
    "T601": Example(
        "A buffer is allocated, declared or matched and nothing uses it. It is often what is left of an earlier "
        "version, or a name that was meant elsewhere. Leave it out.",
        kernel('B = T.alloc_buffer((4,), "float32")', "A[0] = 1.0"),
        LINT,
    ),
    "T602": Example(
        "A buffer or variable of the function is written, and nothing reads it but its own updates, so that all work "
        "on it is lost when the function ends. Store the result in a parameter, or leave it out.",
        kernel("total: T.float32 = 0.0", "for i in range(4):", "    total += A[i]"),
        LINT,
    ),
    "T603": Example(
        "A name is assigned once and never used: often a misspelt use, or left of an earlier version. A name "
        "that begins with an underscore is not told.",
        kernel("first = A[0]", "A[1] = 2.0"),
        LINT,
    ),
    "T604": Example(
        "Neither the body nor the shape of another parameter uses a parameter. Every caller has to pass it. "
        "Leave it out, or let its name begin with an underscore where the signature is given.",
        kernel("A[0] = 1.0", params=TWO),
        LINT,
    ),
    "T605": Example(
        "A statement stands behind a `return`, a `break`, a `continue` or a loop without end, or in a branch whose "
        "condition is never true, or in a loop without iterations. Leave it out, or look for the mistake before it.",
        kernel("for i in range(4, 4):", "    A[i] = 1.0"),
        LINT,
    ),
    "T606": Example(
        "A variable, buffer or parameter has the name of something that programs call: from here on `min(a, b)` would "
        "not mean what it says. The printer uses another name for it. Choose one.",
        kernel("min = A[0]", "A[1] = min"),
        LINT,
    ),
    "T607": Example(
        "Numbers lose more than is probably meant: a sum of many values in 16 bits, which stands still after a few "
        "hundred, or in 8 bits, which wrap; a product of bytes that is widened when it has wrapped; a value narrowed "
        "and widened again; floats compared with `==`.",
        kernel(
            "total: T.float16 = T.float16(0)",
            "for i in range(1024):",
            "    total += A[i]",
            "A[0] = total",
            params='A: T.Buffer((1024,), "float16")',
        ),
        LINT,
    ),
    "T608": Example(
        "A statement stores what is there already, or both operands of a comparison or operator are the same, so that "
        "the result is known: mostly one of the two was meant to be another.",
        kernel("for i in range(4):", "    A[i] = A[i]"),
        LINT,
    ),
    "T609": Example(
        "There are values of the loop variables and sizes that put an index out of bounds; the message has some. Guard "
        "the access, correct the index, or say with `T.assume` what holds of the sizes. What cannot be decided is not "
        "told. What certainly happens is an error, T113.",
        kernel("for i in range(n):", "    A[i] = A[i + 1]", params='A: T.Buffer(("n",), "float32")'),
        LINT,
    ),
    "T610": Example(
        "An index comes from an array that the caller passes, and nothing keeps it in bounds: native code without "
        "checks would read or write whatever is there. Guard the access with `if`, or say `T.assume` where the caller "
        "sees to it.",
        GATHER,
        LINT,
    ),
    "T611": Example(
        "Iterations of a loop that run at once, or in the lanes of vectors, certainly touch the same element, and one "
        "of them writes it. Which is first is not known. Make the loop serial, or let each iteration write its own.",
        kernel("for i in T.parallel(3):", "    A[i + 1] = A[i]"),
        LINT,
    ),
    "T612": Example(
        "The function reads elements of memory of its own that nothing has written before, for the values that the "
        "message has. What they hold is not known. Write all that is read, or read less. Where it depends on memory or "
        "conditions which elements are written, as in a sort by counting, the message says that it is not known.",
        kernel(
            'B = T.alloc_buffer((4,), "float32")',
            "for i in range(3):",
            "    B[i] = A[i]",
            "for i in range(4):",
            "    A[i] = B[i]",
        ),
        LINT,
    ),
    "T613": Example(
        "All that a statement stores is overwritten before anything reads it, or is never read. Often one of two "
        "stores was meant for another buffer, or an update for `+=`. Leave the store out.",
        kernel("for i in range(4):", "    A[i] = 1.0", "for i in range(4):", "    A[i] = 2.0"),
        LINT,
    ),
    "T614": Example(
        "The block says with `T.reads` or `T.writes` what it accesses, and an access is none of that, for the values "
        "that the message has. Running it is not changed by that, but passes and schedules that move blocks rely on "
        "it. What is read to update it, as a reduction does, may stand in `T.writes` alone.",
        kernel(
            "for i in range(3):",
            '    with T.block("shift"):',
            "        vi = T.axis.spatial(3, i)",
            "        T.reads(A[vi])",
            "        T.writes(A[vi])",
            "        A[vi] = A[vi + 1]",
        ),
        LINT,
    ),
    "T615": Example(
        "`&`, `|` and `^` bind more tightly than comparisons, so that `0 < n & n < 4` compares `n & n` with both ends. "
        "Join conditions with `and` and `or`. Where the bits are meant, brackets around the operator say so.",
        kernel("if 0 < n & n < 4:", "    A[n] = 0.0", params='A: T.Buffer((4,), "float32"), n: T.int32'),
        LINT,
    ),
}
