"""Programs in which it is tempting to believe something of memory that does not hold; see test_adversaries.py."""

from __future__ import annotations

ZERO = """
for i in range(16):
    T.assume(A[i] == 0.0)
"""

# a program by what is tempting in it
ADVERSARIES: dict[str, str] = {
    "bind index": ZERO
    + """
for i in range(4):
    x = i * 3
    if i >= 1:
        B[i] = A[x - 3]
    A[x] = 1.0
""",
    "bind index2": ZERO
    + """
for i in range(1, 5):
    x = i * 3
    B[i] = A[x - 3] + 2.0
    A[x] = 1.0
    B[i + 8] = A[x + 3]
""",
    "index reads memory": ZERO
    + """
P[0] = 3
A[P[0]] = 1.0
P[0] = 4
B[0] = A[3]
""",
    "scalar index": ZERO
    + """
x: T.int32 = 3
A[x] = 1.0
x = 4
B[0] = A[3]
""",
    "init": """
for i, k in T.grid(4, 4):
    with T.block("b"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + T.cast(P[vk], "float32")
""",
    "negzero assume": """
T.assume(A[0] == 0.0)
B[0] = A[0]
""",
    "negzero store": """
T.assume(A[0] == 0.0)
A[0] = 0.0
""",
    "neg zero sum base": """
for i in range(16):
    T.assume(i < 14 or A[i] == 0.0)
for i in range(16):
    B[i] = B[i] + A[i]
for i in range(16):
    if i < 14:
        B[i] = B[i] + A[i]
""",
    "neg zero sum base2": """
for i in range(16):
    T.assume(i < 14 or A[i] == 0.0)
for i in range(16):
    B[i] = B[i] + A[0]
for i in range(16):
    if i < 14:
        B[i] = B[i] + A[i]
""",
    "neg zero sub": """
for i in range(16):
    T.assume(i < 14 or A[i] == 0.0)
for i in range(16):
    if i < 14:
        B[i] = B[i] - A[i]
""",
    "const zero signs": """
if n < 5:
    A[0] = 0.0
else:
    A[0] = -0.0
A[1] = B[0] * 0.0
A[2] = B[0] * -0.0
A[3] = 0.0
A[3] = -0.0
A[4] = 1.0
A[4] = 0.0
B[5] = T.if_then_else(n < 5, 0.0, -0.0)
""",
    "const zero signs2": """
A[1] = T.cast(n, "float32") * 0.0
A[2] = T.cast(n, "float32") * -0.0
B[1] = A[1]
A[1] = T.cast(n, "float32") * -0.0
""",
    "same bodies other vars": """
if n < 5:
    A[0] = 1.0
else:
    B[0] = 1.0
x = n + 1
y = n + 2
if n < 3:
    P[0] = x
else:
    P[0] = y
""",
    "view": ZERO
    + """
V = T.decl_buffer((4, 4), "float32", data=A.data)
V[0, 3] = 1.0
B[0] = A[3]
""",
    "call bind": """
A[0] = 1.0
x = T.call_extern("int32", "memset", A.data, 0, 64)
B[0] = A[0]
P[0] = x
""",
    "alloc in loop data": """
for i in range(4):
    S = T.alloc_buffer((4,), "float32")
    p = S.data
    V = T.decl_buffer((4,), "float32", data=p)
    V[0] = 1.0
    B[i] = S[0]
""",
    "alloc in loop": """
for i in range(4):
    S = T.alloc_buffer((4,), "float32")
    for j in range(4):
        S[j] = T.cast(i, "float32")
    B[i] = S[n]
    if i < 2:
        S[n] = 5.0
    B[i + 4] = S[n] + S[0]
""",
    "hoist view": """
V = T.decl_buffer((16,), "float32", data=A.data)
for i in range(4):
    if n > 2:
        B[i] = 1.0
    if A[0] == 0.0:
        V[0] = 1.0
        if A[0] == 0.0:
            B[8] = 4.0
    B[i + 4] = A[0]
""",
    "attr scope": """
with T.attr(0, "pragma_x", 1):
    x = n + 1
    P[0] = x
P[1] = P[0]
""",
    "attr scope2": """
T.attr(0, "pragma_x", 1)
x = n + 1
P[0] = x
P[1] = P[0]
""",
    "nan": """
B[0] = T.nan("float32") if False else B[3] / B[3]
A[0] = T.float32("nan")
B[1] = 1.0 if A[0] == A[0] else 2.0
A[0] = T.float32("nan")
assert not (A[0] == T.float32("nan")), "x"
""",
    "wrap": """
m: T.int32 = n * 1073741824
P[0] = m
P[1] = P[0] + 1073741824
if n * 1073741824 > 0:
    P[2] = 1
if n + 2147483640 > n:
    P[3] = 1
""",
    "unsigned collisions": """
for i in T.serial(T.uint8(4)):
    P[T.cast(i * T.uint8(128) // T.uint8(16), "int32")] = T.cast(i, "int32")
P[1] = P[0]
P[2] = P[8]
""",
    "parallel race": """
for i in range(16):
    T.assume(i == 0 or A[i] == 0.0)
B[0] = 0.0
for i in T.parallel(16):
    if i == 0:
        B[0] = B[0] + A[i]
""",
    "guard axis": """
for i in range(16):
    T.assume(i < 14 or P[i] == 0)
for i in range(16):
    if i < 14:
        with T.block("b"):
            v = T.axis.spatial(14, i)
            P[v] = P[v] + P[v]
""",
    "arm": """
if n < 3:
    A[2] = 1.0
A[2] = 1.0
B[0] = A[2]
""",
    "while": """
i: T.int32 = 0
A[0] = 2.0
while i < n - 3:
    A[0] = 1.0
    i = i + 1
A[0] = 1.0
B[0] = A[0]
""",
    "block": """
for i in range(4):
    with T.block("b"):
        v = T.axis.spatial(4, i)
        T.where(i < 3)
        A[v] = 5.0
A[3] = 5.0
B[0] = A[3]
for i in range(4):
    with T.block("b"):
        v = T.axis.spatial(4, i)
        T.where(i < n - 3)
        B[v] = 5.0
B[2] = 5.0
""",
    "break": """
for i in range(8):
    A[i] = 7.0
    if i == n:
        break
    B[i] = 7.0
A[6] = 7.0
B[6] = 7.0
for i in range(8):
    if i == n:
        continue
    B[i] = 9.0
B[3] = 9.0
""",
    "return": """
A[5] = 1.0
if n == 3:
    A[5] = 2.0
    return
A[5] = 1.0
""",
    "nested": """
for i in range(4):
    for j in range(i):
        A[i * 4 + j] = 1.0
A[12] = 1.0
A[0] = 1.0
A[15] = 1.0
B[0] = A[13] + A[0]
""",
    "strided": """
for i in range(0, 16, 3):
    A[i] = 1.0
A[4] = 1.0
A[3] = 1.0
""",
    "guard axis 2": """
for i in range(16):
    T.assume(i < 14 or P[i] == 0)
for i in range(16):
    if i < 14:
        with T.block("b"):
            v = T.axis.spatial(14, i)
            P[v] = P[v] + 0
""",
    "init arms": """
x: T.int32
if n < 3:
    x = 3
else:
    x = 4
P[0] = x
y = 5
x = y
P[1] = x
""",
    "vector": """
A[0] = 3.0
A[T.ramp(0, 1, 4)] = T.broadcast(1.0, 4)
B[0] = A[0]
A[2] = 1.0
A[0] = 3.0
B[1] = A[0]
A[T.ramp(4, 1, 4)] = B[T.ramp(4, 1, 4)]
A[T.ramp(4, 1, 4)] = B[T.ramp(0, 1, 4)]
""",
    "pred": """
A[0] = 3.0
A.vstore([T.ramp(0, 1, 4)], T.broadcast(1.0, 4), predicate=T.broadcast(n < 3, 4))
A.vstore([T.ramp(0, 1, 4)], T.broadcast(2.0, 4), predicate=T.broadcast(n < 5, 4))
B[0] = A[0]
""",
    "assert order": """
A[0] = 1.0
assert n > 5, "first"
A[0] = 2.0
assert n > 7, "second"
""",
    "assert order2": """
if n > 3:
    assert n > 9, "a"
assert n > 2, "b"
for i in range(4):
    assert n > i, "c"
    if n > 4:
        B[i] = 1.0
""",
    "div0": """
for i in range(n - 3):
    x = 7 // (n - 3)
    P[i] = x
if n != 3 and 7 // (n - 3) > 1:
    P[0] = 7 // (n - 3)
P[1] = T.if_then_else(n != 3, 7 // (n - 3), 0) + T.if_then_else(n != 3, 7 // (n - 3), 0)
""",
    "const": """
C = T.allocate_const([1, 2, 3, 4], "int32", (4,))
for i in range(4):
    P[i] = C[i]
P[0] = C[0] + C[n]
P[1] = 1
P[0] = 4
""",
    "uninit": """
S = T.alloc_buffer((4,), "int32")
S[0] = P[0]
if n < 2:
    S[1] = 5
P[3] = S[0]
""",
    "match": """
for i in range(4):
    with T.block("b"):
        v = T.axis.spatial(4, i)
        M = T.match_buffer(A[v * 4:v * 4 + 4], (4,), "float32", offset_factor=1)
        A[v * 4] = 2.0
        M[0] = 3.0
        B[v] = A[v * 4]
A[4] = 2.0
""",
    "swap": """
x: T.int32 = 1
y: T.int32 = 2
x, y = y, x
P[0] = x
P[1] = y
""",
    "cond var": """
for i in range(8):
    if P[0] == 0:
        P[0] = i + 1
        if P[0] == 0:
            P[1] = 4
    if P[0] == 0:
        P[2] = 4
""",
    "undef": """
P[0] = T.undef("int32") * 0
P[1] = T.undef("int32")
P[1] = 4
P[2] = T.Select(n > 2, 3, T.undef("int32"))
""",
    "hoist else": """
for i in range(4):
    if n > 3 and i < 2:
        A[i] = 1.0
    else:
        B[i] = 2.0
for i in range(4):
    B[i] = 4.0
    if n > 2 and i < 2:
        A[i + 4] = 1.0
    else:
        B[i + 4] = 2.0
    B[i + 8] = 4.0
""",
    "merge break": """
for i in range(8):
    if i == n:
        break
    if i == n:
        A[i] = 1.0
    if i != n:
        A[i] = 2.0
""",
    "i64": """
for i in T.serial(T.int64(16)):
    A[i] = 1.0
A[n] = 1.0
B[0] = A[n]
""",
    "T.thread for": """
for t in T.thread_binding(8, thread="threadIdx.x"):
    for i in range(4):
        if t < 6 and n > 2:
            A[t] = A[t] + 1.0
""",
}
