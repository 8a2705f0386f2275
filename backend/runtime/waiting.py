"""How a thread of the pool sleeps until another changes a word, as LLVM IR text.

`wait` sleeps until a word is no longer what was seen, `wake` wakes who sleeps for a word that has changed, and `renew`
makes what they need, at the start and in the child of a fork.
"""

from __future__ import annotations

# number of the system call futex by the first word of a target triple
FUTEX = {"x86_64": 202, "aarch64": 98, "arm64": 98, "riscv64": 98, "powerpc64le": 221, "s390x": 238}

# sleep until the word is another, and wake who sleeps for a word
_FUTEX_WAIT = """
declare i64 @syscall(i64, ...)

define internal void @wait(ptr %word, i32 %seen) nounwind {{
entry:
  br label %again
again:
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %sleep, label %done
sleep:
  call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i32 128, i32 %seen, ptr null, ptr null, i32 0)
  br label %again
done:
  ret void
}}

define internal void @wake(ptr %word) nounwind {{
  call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i32 129, i32 1, ptr null, ptr null, i32 0)
  ret void
}}

define internal void @renew() nounwind {{
  ret void
}}
"""

# the same with one condition variable for all words; 128 bytes hold either object on every system
_CONDITION_WAIT = """
@mutex = internal global [128 x i8] zeroinitializer, align 64
@condition = internal global [128 x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @wait(ptr %word, i32 %seen) nounwind {
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %again
again:
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %sleep, label %done
sleep:
  call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %again
done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define internal void @wake(ptr %word) nounwind {
  call i32 @pthread_mutex_lock(ptr @mutex)
  call i32 @pthread_cond_broadcast(ptr @condition)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define internal void @renew() nounwind {
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}
"""

# without threads nobody waits
_NO_WAIT = """
define internal void @wait(ptr %word, i32 %seen) nounwind {
  unreachable
}

define internal void @wake(ptr %word) nounwind {
  unreachable
}

define internal void @renew() nounwind {
  ret void
}
"""


def has_futex(triple: str) -> bool:
    """Whether the system of a target triple has the system call futex."""
    return "linux" in triple and triple.partition("-")[0] in FUTEX


def waiting_text(triple: str, *, threads: bool, futex: bool) -> str:
    """The functions: by the system call futex, else by a condition variable; without threads, nobody calls them."""
    if not threads:
        return _NO_WAIT
    return _FUTEX_WAIT.format(futex=FUTEX[triple.partition("-")[0]]) if futex else _CONDITION_WAIT


__all__ = ["FUTEX", "has_futex", "waiting_text"]
