"""Where the threads of the pool run: each on a processor of its own, as far as there are some."""

from __future__ import annotations

import os

import pytest

from tests.helpers.processes import python

WHERE = """
@T.prim_func
def where(A: T.Buffer((2,), "int32")):
    for i in T.parallel(2, annotations={"grain": 1}):
        A[i] = T.call_extern("int32", "sched_getcpu")
        T.evaluate(T.call_extern("int32", "usleep", 20000))
"""


def test_threads_wake_on_processors_of_their_own_and_may_then_run_anywhere() -> None:
    if not os.path.isdir("/proc/self/task") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("the system does not tell what threads do, or has one processor")
    code = f"""
import os, time, numpy as np, tirscript
tirscript.set_num_threads(2)
where = tirscript.build(tirscript.parse('''{WHERE}'''))
a = np.zeros(2, "int32")
tasks = lambda: {{int(task) for task in os.listdir("/proc/self/task")}}
before = tasks()
where(a)
[worker] = tasks() - before
def sleep():
    while open(f"/proc/self/task/{{worker}}/stat").read().rsplit(")")[1].split()[0] != "S":
        time.sleep(0.001)
own, other = both = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(os.getpid(), {{own}})
for _ in range(20):
    os.sched_setaffinity(worker, {{own}})  # where the caller is: it has no other place
    sleep()
    where(a)
    assert a.tolist() == [own, own], a
    os.sched_setaffinity(worker, both)
    sleep()
    where(a)
    assert a.tolist() == [own, other], a
    assert os.sched_getaffinity(worker) == set(both)
print("done")
"""
    found = python(code, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    assert found.stdout == "done\n", found.stderr


DOUBLE = """
@T.prim_func
def double(A: T.Buffer((64, 4096), "float32"), B: T.Buffer((64, 4096), "float32")):
    for i in T.parallel(64):
        for j in range(4096):
            B[i, j] = A[i, j] * T.float32(2)
"""


def test_a_loop_does_not_wait_for_a_thread_that_has_no_processor() -> None:
    """Until the scheduler gave it that of the caller, a loop would take hundreds of times what it does."""
    if not os.path.isdir("/proc/self/task") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("the system does not tell what threads do, or has one processor")
    code = f"""
import os, time, numpy as np, tirscript
tirscript.set_num_threads(2)
double = tirscript.build(tirscript.parse('''{DOUBLE}'''))
a, b = np.ones((64, 4096), "float32"), np.zeros((64, 4096), "float32")
tasks = lambda: {{int(task) for task in os.listdir("/proc/self/task")}}
before = tasks()
for _ in range(1000):
    double(a, b)  # each thread learns that it pays to look
own = min(os.sched_getaffinity(0))
for task in [os.getpid(), *(tasks() - before)]:
    os.sched_setaffinity(task, {{own}})
start = time.process_time()
for _ in range(1000):
    double(a, b)
print(time.process_time() - start, (b == 2).all())  # of the processor: what others do is not in it
"""
    found = python(code, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    spent, right = found.stdout.split()
    assert float(spent) < 0.55 and right == "True", (found.stdout, found.stderr)
