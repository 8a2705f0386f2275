"""How the threads of the pool start, as LLVM IR text.

`grow` starts threads until there are so many workers, and answers how many there are: fewer where the system has no
more, none where it has no threads.
"""

from __future__ import annotations

STACK = 8 << 20  # bytes, the usual size on Linux; musl's own would be too small for a frame of 256 KiB

# new threads take no signals, which are for the threads of Python; their stacks hold deep frames on every system
_START = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal i32 @grow(i32 %wanted) noinline nounwind {{
entry:
  %attributes = alloca [128 x i8], align 16
  %all = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %thread = alloca i64, align 8
  %have = load i32, ptr @workers, align 4
  call i32 @sigfillset(ptr %all)
  call i32 @pthread_sigmask(i32 {setmask}, ptr %all, ptr %before)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 {detached})
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {stack})
  br label %check
check:
  %count = phi i32 [%have, %entry], [%more, %made]
  %missing = icmp ult i32 %count, %wanted
  br i1 %missing, label %make, label %done
make:
  %more = add i32 %count, 1
  %at = zext i32 %more to i64
  %box = getelementptr inbounds %box, ptr @boxes, i64 %at
  store i32 0, ptr %box, align 128
  %part.field = getelementptr inbounds %box, ptr %box, i64 0, i32 1
  store i32 %more, ptr %part.field, align 4
  %done.field = getelementptr inbounds %box, ptr %box, i64 0, i32 2
  store i32 0, ptr %done.field, align 4
  %progress.field = getelementptr inbounds %box, ptr %box, i64 0, i32 4
  store i64 0, ptr %progress.field, align 8
  %placed.field = getelementptr inbounds %box, ptr %box, i64 0, i32 16
  store i32 0, ptr %placed.field, align 4
  %status = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @work, ptr %box)
  %refused = icmp ne i32 %status, 0
  br i1 %refused, label %done, label %made
made:
  br label %check
done:
  store atomic i32 %count, ptr @workers monotonic, align 4
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 {setmask}, ptr %before, ptr null)
  ret i32 %count
}}
"""

_NO_START = """
define internal i32 @grow(i32 %wanted) nounwind {
  ret i32 0
}
"""


def starting_text(triple: str, *, threads: bool) -> str:
    """The function for a target triple, by POSIX threads; without `threads` there are no workers."""
    if not threads:
        return _NO_START
    darwin = "darwin" in triple or "macos" in triple
    # numbers of SIG_SETMASK and PTHREAD_CREATE_DETACHED
    return _START.format(setmask=3 if darwin else 2, detached=2 if darwin else 1, stack=STACK)


__all__ = ["STACK", "starting_text"]
