"""Where the threads of the pool wake up, as LLVM IR text: each on a processor of its own.

A scheduler wakes a thread where it ran last, or where its waker runs, unless it knows of an idle processor. In a
virtual machine a processor that halts looks taken (Linux: `vcpu_is_preempted`), so a worker may wake on its caller's
processor and wait there until the caller sleeps, loop after loop, while the other processor idles. So the caller lets
a sleeper wake on one processor that no other thread of the loop has, and the sleeper, once it runs, may run again
wherever it could before.

The same happens to a caller that sleeps until a worker is done, and wakes where that runs. Where there are more threads
than processors (they do not spin then), all this is left to the scheduler.

A processor may have been taken by somebody else since. Nobody waits for a worker that has not begun: others do what
was its part.

`rest` is called by a worker that goes to sleep, `here` by one that begins a part, `survey` and `place` by the caller
that is about to wake one, `roam` by a worker that has woken; `await` by a caller that goes to sleep, `seat` by the
worker that is about to wake it, `go_on` by the caller that has woken. But for `here` they run only for threads that
sleep.
"""

from __future__ import annotations

# number of the system call gettid by the first word of a target triple
_GETTID = {"x86_64": 186, "aarch64": 178, "arm64": 178, "riscv64": 178, "powerpc64le": 207, "s390x": 236}

# sets of processors are what sched_setaffinity takes: a bit for each of the first 1,024
_PLACE = """
@masks = internal global [{most} x [128 x i8]] zeroinitializer, align 128
@taken = internal global [128 x i8] zeroinitializer, align 128
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; a set's byte that has a processor's bit, and the bit
define internal {{ ptr, i8 }} @bit(ptr %set, i32 %processor) nounwind {{
  %at = lshr i32 %processor, 3
  %at.wide = zext i32 %at to i64
  %byte = getelementptr inbounds i8, ptr %set, i64 %at.wide
  %within = and i32 %processor, 7
  %within.narrow = trunc i32 %within to i8
  %bit = shl i8 1, %within.narrow
  %first = insertvalue {{ ptr, i8 }} poison, ptr %byte, 0
  %both = insertvalue {{ ptr, i8 }} %first, i8 %bit, 1
  ret {{ ptr, i8 }} %both
}}

define internal i1 @has(ptr %set, i32 %processor) nounwind {{
  %both = call {{ ptr, i8 }} @bit(ptr %set, i32 %processor)
  %byte = extractvalue {{ ptr, i8 }} %both, 0
  %bit = extractvalue {{ ptr, i8 }} %both, 1
  %old = load i8, ptr %byte, align 1
  %hit = and i8 %old, %bit
  %is = icmp ne i8 %hit, 0
  ret i1 %is
}}

; add a processor to a set; one that is not known (-1) or has no bit is left out
define internal void @add(ptr %set, i32 %processor) nounwind {{
entry:
  %known = icmp ult i32 %processor, 1024
  br i1 %known, label %mark, label %done
mark:
  %both = call {{ ptr, i8 }} @bit(ptr %set, i32 %processor)
  %byte = extractvalue {{ ptr, i8 }} %both, 0
  %bit = extractvalue {{ ptr, i8 }} %both, 1
  %old = load i8, ptr %byte, align 1
  %new = or i8 %old, %bit
  store i8 %new, ptr %byte, align 1
  br label %done
done:
  ret void
}}

; let a thread run on one processor alone: `last`, or the next one that is in the set `may` and not in `taken`; which,
; or -1 where there is none or the system does not allow it
define internal i32 @move(i32 %thread, i32 %last, ptr %may, ptr %taken) noinline nounwind {{
entry:
  %one = alloca [128 x i8], align 16
  br label %search
search:
  %tried = phi i32 [0, %entry], [%tried.next, %further]
  %candidate.far = add i32 %last, %tried
  %candidate = and i32 %candidate.far, 1023
  %allowed = call i1 @has(ptr %may, i32 %candidate)
  %used = call i1 @has(ptr %taken, i32 %candidate)
  %unused = xor i1 %used, true
  %fits = and i1 %allowed, %unused
  br i1 %fits, label %found, label %further
further:
  %tried.next = add i32 %tried, 1
  %more = icmp ult i32 %tried.next, 1024
  br i1 %more, label %search, label %none
found:
  call void @llvm.memset.p0.i64(ptr %one, i8 0, i64 128, i1 false)
  call void @add(ptr %one, i32 %candidate)
  %status = call i32 @sched_setaffinity(i32 %thread, i64 128, ptr %one)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %done, label %none
done:
  ret i32 %candidate
none:
  ret i32 -1
}}

; a worker goes to sleep: who and where it is
define internal void @rest(ptr %box) nounwind {{
  %thread.field = getelementptr inbounds %box, ptr %box, i64 0, i32 14
  %processor.field = getelementptr inbounds %box, ptr %box, i64 0, i32 15
  %thread = call i64 (i64, ...) @syscall(i64 {gettid})
  %thread.narrow = trunc i64 %thread to i32
  store i32 %thread.narrow, ptr %thread.field, align 4
  %processor = call i32 @sched_getcpu()
  store atomic i32 %processor, ptr %processor.field monotonic, align 4
  ret void
}}

; where a worker is that begins its part
define internal void @here(ptr %box) nounwind {{
  %processor.field = getelementptr inbounds %box, ptr %box, i64 0, i32 15
  %processor = call i32 @sched_getcpu()
  store atomic i32 %processor, ptr %processor.field monotonic, align 4
  ret void
}}

; the processors that the caller and those of the first `others` workers have who are awake
define internal void @survey(i32 %others) noinline nounwind {{
entry:
  %spins = load atomic i32, ptr @tirscript_spins monotonic, align 4
  %shared = icmp eq i32 %spins, 0
  br i1 %shared, label %done, label %begin
begin:
  call void @llvm.memset.p0.i64(ptr @taken, i8 0, i64 128, i1 false)
  %own = call i32 @sched_getcpu()
  call void @add(ptr @taken, i32 %own)
  br label %look
look:
  %at = phi i32 [1, %begin], [%next, %on]
  %wide = zext i32 %at to i64
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %wide
  %given = load atomic i32, ptr %box monotonic, align 4
  %sleeps = and i32 %given, 1
  %asleep = icmp ne i32 %sleeps, 0
  br i1 %asleep, label %on, label %mark
mark:
  %processor.field = getelementptr inbounds %box, ptr %box, i64 0, i32 15
  %processor = load atomic i32, ptr %processor.field monotonic, align 4
  call void @add(ptr @taken, i32 %processor)
  br label %on
on:
  %next = add i32 %at, 1
  %over = icmp ugt i32 %next, %others
  br i1 %over, label %done, label %look
done:
  ret void
}}

; let the worker of the part `at`, which sleeps, wake on its processor if nobody else has that, or else on the next that
; is free; anywhere where none is
define internal void @place(i64 %at) noinline nounwind {{
entry:
  %spins = load atomic i32, ptr @tirscript_spins monotonic, align 4
  %shared = icmp eq i32 %spins, 0
  br i1 %shared, label %done, label %begin
begin:
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %at
  %mask = getelementptr inbounds [{most} x [128 x i8]], ptr @masks, i64 0, i64 %at
  %thread.field = getelementptr inbounds %box, ptr %box, i64 0, i32 14
  %processor.field = getelementptr inbounds %box, ptr %box, i64 0, i32 15
  %placed.field = getelementptr inbounds %box, ptr %box, i64 0, i32 16
  %thread = load i32, ptr %thread.field, align 4
  %last = load atomic i32, ptr %processor.field monotonic, align 4
  %status = call i32 @sched_getaffinity(i32 %thread, i64 128, ptr %mask)
  %known = icmp eq i32 %status, 0
  br i1 %known, label %move, label %done
move:
  %found = call i32 @move(i32 %thread, i32 %last, ptr %mask, ptr @taken)
  call void @add(ptr @taken, i32 %found)
  %good = icmp ne i32 %found, -1
  %flag = zext i1 %good to i32
  store atomic i32 %flag, ptr %placed.field monotonic, align 4
  br label %done
done:
  ret void
}}

; a worker that has woken may run where it could before it was placed
define internal void @roam(ptr %box, i32 %part) nounwind {{
entry:
  %placed.field = getelementptr inbounds %box, ptr %box, i64 0, i32 16
  %processor.field = getelementptr inbounds %box, ptr %box, i64 0, i32 15
  %processor = call i32 @sched_getcpu()
  store atomic i32 %processor, ptr %processor.field monotonic, align 4
  %placed = load atomic i32, ptr %placed.field monotonic, align 4
  %held = icmp ne i32 %placed, 0
  br i1 %held, label %free, label %done
free:
  store atomic i32 0, ptr %placed.field monotonic, align 4
  %at = zext i32 %part to i64
  %mask = getelementptr inbounds [{most} x [128 x i8]], ptr @masks, i64 0, i64 %at
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %mask)
  br label %done
done:
  ret void
}}
"""

# the same for the caller that has the pool: its thread, its processor, and whether it was placed
_SEAT = """
@caller = internal global {{ i32, i32, i32 }} zeroinitializer, align 128
@caller.mask = internal global [128 x i8] zeroinitializer, align 128

; the caller goes to sleep
define internal void @await() noinline nounwind {{
entry:
  store i32 0, ptr @caller, align 4
  %spins = load atomic i32, ptr @tirscript_spins monotonic, align 4
  %shared = icmp eq i32 %spins, 0
  br i1 %shared, label %done, label %begin
begin:
  %thread = call i64 (i64, ...) @syscall(i64 {gettid})
  %thread.narrow = trunc i64 %thread to i32
  %processor = call i32 @sched_getcpu()
  %status = call i32 @sched_getaffinity(i32 0, i64 128, ptr @caller.mask)
  %known = icmp eq i32 %status, 0
  %whom = select i1 %known, i32 %thread.narrow, i32 0
  store i32 %whom, ptr @caller, align 4
  %processor.field = getelementptr inbounds i8, ptr @caller, i64 4
  store i32 %processor, ptr %processor.field, align 4
  br label %done
done:
  ret void
}}

; let the caller wake where it was, or on another processor if the worker that calls this has that one
define internal void @seat() noinline nounwind {{
entry:
  %own = alloca [128 x i8], align 16
  %whom = load i32, ptr @caller, align 4
  %known = icmp ne i32 %whom, 0
  br i1 %known, label %move, label %done
move:
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 128, i1 false)
  %here = call i32 @sched_getcpu()
  call void @add(ptr %own, i32 %here)
  %processor.field = getelementptr inbounds i8, ptr @caller, i64 4
  %last = load i32, ptr %processor.field, align 4
  %found = call i32 @move(i32 %whom, i32 %last, ptr @caller.mask, ptr %own)
  %good = icmp ne i32 %found, -1
  %flag = zext i1 %good to i32
  %placed.field = getelementptr inbounds i8, ptr @caller, i64 8
  store i32 %flag, ptr %placed.field, align 4
  br label %done
done:
  ret void
}}

; the caller has woken, and may run where it could before
define internal void @go_on() noinline nounwind {{
entry:
  %placed.field = getelementptr inbounds i8, ptr @caller, i64 8
  %placed = load i32, ptr %placed.field, align 4
  %held = icmp ne i32 %placed, 0
  br i1 %held, label %free, label %done
free:
  store i32 0, ptr %placed.field, align 4
  call i32 @sched_setaffinity(i32 0, i64 128, ptr @caller.mask)
  br label %done
done:
  ret void
}}
"""

_NO_PLACE = """
define internal void @rest(ptr %box) nounwind {
  ret void
}

define internal void @here(ptr %box) nounwind {
  ret void
}

define internal void @survey(i32 %others) nounwind {
  ret void
}

define internal void @place(i64 %at) nounwind {
  ret void
}

define internal void @roam(ptr %box, i32 %part) nounwind {
  ret void
}

define internal void @await() nounwind {
  ret void
}

define internal void @seat() nounwind {
  ret void
}

define internal void @go_on() nounwind {
  ret void
}
"""


def placement_text(processor: str, most: int, linux: bool) -> str:
    """The functions for a processor's first word in target triples, and a pool of at most so many threads.

    linux: whether the system has the calls they make; without, threads wake wherever it lets them
    """
    if not linux or processor not in _GETTID:
        return _NO_PLACE
    return (_PLACE + _SEAT).format(most=most, gettid=_GETTID[processor])
