"""The fork-join pool as LLVM IR text, compiled once a process: threads that wait for work, and a function that deals
a loop out to them.

`i32 tirscript_parallel(ptr body, ptr closure, i64 count, i64 grain, i64 unit, i64 rouse, ptr error)` runs the
iterations 0 to `count` of a loop, each once, and returns when all are done. A part is a call of

    i32 body(ptr closure, i64 begin, i64 end, ptr error, ptr failed, i32 part)

by one thread: consecutive iterations, in order, at least `grain` of them, beginning at a multiple of `unit` (both at
least 1, `grain` no less than `unit`). The split depends on nothing but the count and the number of threads. The caller
runs part 0. A part returns 0, or what ended it, after which its error record tells the rest. `failed` holds the least
part that has failed so far: a part above it need not go on. The result is that of the least part that failed, with its
record in `error`, so it is that of the first iteration that fails, as in a loop run in order.

Threads that sleep take long to wake. Where a thread would get less than `rouse` iterations, no more are woken than get
so many, which may be none; but not more than 8 times in a row, since loops that come one after the other keep the
threads awake. Who is awake is given work first, and then the others are woken, one by one.

There is one pool. Where it is taken - by another thread, or by a loop around this one - the caller runs all iterations
itself: nobody ever waits for the pool.

How threads talk (docs/threads.md tells why this is right). Each worker has a box with two words. `given` counts the
jobs put into it by steps of 2; its low bit says that the worker sleeps, or is about to. The caller writes the job and
then exchanges `given` (release); the worker has seen a new count (acquire) when it reads the job. `done` is the count
of the last job done; its low bit says that the caller sleeps. One exchange thus both tells the news and whether
somebody must be woken for it. What the caller writes and what the worker writes lie apart, so that a job costs the way
there and the way back between two processors' caches and no more.
"""

from __future__ import annotations

from .placement import placement_text
from .waiting import has_futex, waiting_text

MOST_THREADS = 256
ERROR_BYTES = 72  # of an error record, see llvm/sites.py
RAISED = 2  # what a part returns where Python code that it called has raised: its record then holds a ticket

# what a thread does between two looks at a word that another will change
_PAUSE = {"x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.isb(i32 15)"}
_PAUSE_DECLARED = {"x86_64": "declare void @llvm.x86.sse2.pause()", "aarch64": "declare void @llvm.aarch64.isb(i32)"}

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
  %at = zext i32 %count to i64
  %box = getelementptr inbounds %box, ptr @boxes, i64 %at
  store i32 0, ptr %box, align 128
  %part.field = getelementptr inbounds %box, ptr %box, i64 0, i32 1
  %done.field = getelementptr inbounds %box, ptr %box, i64 0, i32 7
  store i32 0, ptr %done.field, align 4
  %placed.field = getelementptr inbounds %box, ptr %box, i64 0, i32 12
  %begun.field = getelementptr inbounds %box, ptr %box, i64 0, i32 13
  store i32 0, ptr %placed.field, align 4
  store i32 0, ptr %begun.field, align 4
  %more = add i32 %count, 1
  store i32 %more, ptr %part.field, align 4
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

_POOL = """
; how many threads run a loop, and how often a thread looks at a word before it sleeps; set by Python at any time
@tirscript_threads = global i32 1, align 4
@tirscript_spins = global i32 0, align 4
; forgets the exception of a ticket; set once
@tirscript_forget = global ptr null, align 8

; given, part, body, closure, begin, end; done, status, error record; thread, processor, whether it was placed; begun
%box = type {{ i32, i32, ptr, ptr, i64, i64, [88 x i8], i32, i32, [{error} x i8], i32, i32, i32, i32, [{rest} x i8] }}
@boxes = internal global [{most} x %box] zeroinitializer, align 128
@busy = internal global [32 x i32] zeroinitializer, align 128
@patience = internal global [32 x i32] zeroinitializer, align 128
@failed = internal global [32 x i32] zeroinitializer, align 128
@computing = internal global [32 x i32] zeroinitializer, align 128
@workers = internal global i32 0, align 4
@spared = internal global i32 0, align 4
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)

; look at a word until it is no longer `seen`, a bounded number of times: twice as often as the last time where that
; was not in vain, half as often where it was; at every 8th time an eighth of what is allowed at least, at every 256th
; all of it. While a loop runs nothing is in vain yet: its threads will be needed for the next one. So they look on by
; turns of an eighth, until it has ended, or until nobody has worked for it in as many turns as all threads take to wake
; at most, and two: who should work may wait for this thread's processor
define internal i32 @watch(ptr %word, i32 %seen, ptr %patience) nounwind {{
entry:
  %allowed = load atomic i32, ptr @tirscript_spins monotonic, align 4
  %wished = load i32, ptr %patience, align 4
  %turn.field = getelementptr inbounds i32, ptr %patience, i64 1
  %turn = load i32, ptr %turn.field, align 4
  %turn.next = add i32 %turn, 1
  store i32 %turn.next, ptr %turn.field, align 4
  %rest = and i32 %turn, 255
  %trial = icmp eq i32 %rest, 0
  %usual = call i32 @llvm.umin.i32(i32 %wished, i32 %allowed)
  %rest.short = and i32 %turn, 7
  %trial.short = icmp eq i32 %rest.short, 0
  %eighth.whole = lshr i32 %allowed, 3
  %eighth = call i32 @llvm.umax.i32(i32 %eighth.whole, i32 1)
  %raised = call i32 @llvm.umax.i32(i32 %usual, i32 %eighth)
  %mostly = select i1 %trial.short, i32 %raised, i32 %usual
  %most = select i1 %trial, i32 %allowed, i32 %mostly
  %turn.first = call i32 @llvm.umin.i32(i32 %most, i32 %eighth)
  %some = icmp ne i32 %allowed, 0
  br label %look
look:
  %round = phi i32 [0, %entry], [%next, %pause], [0, %again]
  %bound = phi i32 [%turn.first, %entry], [%bound, %pause], [%eighth, %again]
  %times = phi i32 [1, %entry], [%times, %pause], [%times.next, %again]
  %idle = phi i32 [0, %entry], [%idle, %pause], [%idle.next, %again]
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %seen
  %next = add i32 %round, 1
  br i1 %same, label %on, label %done
on:
  %patient = icmp ule i32 %next, %bound
  br i1 %patient, label %pause, label %out
pause:
  {pause}
  br label %look
out:
  %running = load atomic i32, ptr @busy monotonic, align 4
  %taken = icmp ne i32 %running, 0
  %early = icmp ult i32 %times, 128
  %times.next = add i32 %times, 1
  %looked = mul i32 %times, %eighth
  %usually = icmp ult i32 %looked, %most
  %worth = and i1 %taken, %early
  %either = or i1 %worth, %usually
  %longer = and i1 %either, %some
  br i1 %longer, label %again, label %done
again:
  %starved = call i1 @starved()
  %nobody = and i1 %starved, %taken
  %idle.more = add i32 %idle, 1
  %idle.next = select i1 %nobody, i32 %idle.more, i32 0
  %have = load atomic i32, ptr @workers monotonic, align 4
  %twice = shl i32 %have, 1
  %enough = add i32 %twice, 2
  %leaves = icmp uge i32 %idle.next, %enough
  br i1 %leaves, label %done, label %look
done:
  %half = lshr i32 %usual, 1
  %double.most = shl i32 %most, 1
  %double = or i32 %double.most, 64
  %patience.next = select i1 %same, i32 %half, i32 %double
  store i32 %patience.next, ptr %patience, align 4
  ret i32 %now
}}

; a worker's life: it has done the job `last` and waits for another
define internal ptr @work(ptr %box) nounwind {{
entry:
  %patience = alloca [2 x i32], align 4
  store i64 0, ptr %patience, align 4
  %part.field = getelementptr inbounds %box, ptr %box, i64 0, i32 1
  %body.field = getelementptr inbounds %box, ptr %box, i64 0, i32 2
  %closure.field = getelementptr inbounds %box, ptr %box, i64 0, i32 3
  %begin.field = getelementptr inbounds %box, ptr %box, i64 0, i32 4
  %end.field = getelementptr inbounds %box, ptr %box, i64 0, i32 5
  %done.field = getelementptr inbounds %box, ptr %box, i64 0, i32 7
  %status.field = getelementptr inbounds %box, ptr %box, i64 0, i32 8
  %error = getelementptr inbounds %box, ptr %box, i64 0, i32 9
  %part = load i32, ptr %part.field, align 4
  br label %idle
idle:
  %last = phi i32 [0, %entry], [%word, %next]
  %watched = call i32 @watch(ptr %box, i32 %last, ptr %patience)
  %came = icmp ne i32 %watched, %last
  br i1 %came, label %run, label %tired
tired:
  call void @rest(ptr %box)
  %asleep = or i32 %last, 1
  %pair = cmpxchg ptr %box, i32 %last, i32 %asleep acq_rel acquire, align 4
  %quiet = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %quiet, label %sleep, label %run
sleep:
  call void @wait(ptr %box, i32 %asleep)
  call void @roam(ptr %box, i32 %part)
  br label %run
run:
  %word = load atomic i32, ptr %box acquire, align 4
  %body = load ptr, ptr %body.field, align 8
  %closure = load ptr, ptr %closure.field, align 8
  %begin = load i64, ptr %begin.field, align 8
  %end = load i64, ptr %end.field, align 8
  %begun.field = getelementptr inbounds %box, ptr %box, i64 0, i32 13
  store atomic i32 %word, ptr %begun.field monotonic, align 4
  call void @here(ptr %box)
  %status = call i32 %body(ptr %closure, i64 %begin, i64 %end, ptr %error, ptr @failed, i32 %part)
  store i32 %status, ptr %status.field, align 4
  %good = icmp eq i32 %status, 0
  br i1 %good, label %finish, label %broken
broken:
  atomicrmw umin ptr @failed, i32 %part monotonic, align 4
  br label %finish
finish:
  %waiting = load atomic i32, ptr %done.field acquire, align 4
  %waiting.bit = and i32 %waiting, 1
  %waited = icmp ne i32 %waiting.bit, 0
  br i1 %waited, label %offer, label %over
offer:
  call void @seat()
  br label %over
over:
  %before = atomicrmw xchg ptr %done.field, i32 %word acq_rel, align 4
  %before.asleep = and i32 %before, 1
  %awaited = icmp ne i32 %before.asleep, 0
  br i1 %awaited, label %tell, label %next
tell:
  call void @wake(ptr %done.field)
  br label %next
next:
  br label %idle
}}

define i32 @tirscript_parallel(
    ptr %body, ptr %closure, i64 %count, i64 %grain, i64 %unit, i64 %rouse, ptr %error) nounwind {{
entry:
  %none = alloca i32, align 4
  %sleepers = alloca [{most} x i8], align 16
  %limit = load atomic i32, ptr @tirscript_threads monotonic, align 4
  %limit.wide = zext i32 %limit to i64
  %parts = udiv i64 %count, %grain
  %wanted = call i64 @llvm.umin.i64(i64 %parts, i64 %limit.wide)
  %alone = icmp ult i64 %wanted, 2
  br i1 %alone, label %serial, label %lock
lock:
  %taken = load atomic i32, ptr @busy monotonic, align 4
  %free = icmp eq i32 %taken, 0
  br i1 %free, label %try, label %serial
try:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic, align 4
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %staff, label %serial
serial:
  store i32 -1, ptr %none, align 4
  %result = call i32 %body(ptr %closure, i64 0, i64 %count, ptr %error, ptr %none, i32 0)
  ret i32 %result
staff:
  %have = load i32, ptr @workers, align 4
  %wanted.narrow = trunc i64 %wanted to i32
  %others.most = sub i32 %wanted.narrow, 1
  %rousing = mul i64 %rouse, %wanted
  %long = icmp uge i64 %count, %rousing
  br i1 %long, label %staffing, label %short
short:
  %awake = call i32 @awake(i32 %others.most)
  %ready = icmp eq i32 %awake, %others.most
  %spared = load i32, ptr @spared, align 4
  %spared.more = add i32 %spared, 1
  %often = icmp uge i32 %spared, 8
  %go = or i1 %ready, %often
  %spared.next = select i1 %go, i32 0, i32 %spared.more
  store i32 %spared.next, ptr @spared, align 4
  br i1 %go, label %staffing, label %fewer
fewer:
  %worth = udiv i64 %count, %rouse
  %worth.narrow = trunc i64 %worth to i32
  %worth.some = call i32 @llvm.umax.i32(i32 %worth.narrow, i32 1)
  %worth.others = sub i32 %worth.some, 1
  %others.some = call i32 @llvm.umax.i32(i32 %awake, i32 %worth.others)
  br label %staffing
staffing:
  %others.wanted = phi i32 [%others.most, %staff], [%others.most, %short], [%others.some, %fewer]
  %enough = icmp uge i32 %have, %others.wanted
  br i1 %enough, label %staffed, label %hire
hire:
  %grown = call i32 @grow(i32 %others.wanted)
  br label %staffed
staffed:
  %there = phi i32 [%have, %staffing], [%grown, %hire]
  %others = call i32 @llvm.umin.i32(i32 %there, i32 %others.wanted)
  %nobody = icmp eq i32 %others, 0
  br i1 %nobody, label %unstaffed, label %split
unstaffed:
  store atomic i32 0, ptr @busy release, align 4
  br label %serial
split:
  %threads.narrow = add i32 %others, 1
  %threads = zext i32 %threads.narrow to i64
  %rounded = add i64 %count, %unit
  %rounded.less = sub i64 %rounded, 1
  %units = udiv i64 %rounded.less, %unit
  %each = udiv i64 %units, %threads
  %rest = urem i64 %units, %threads
  store atomic i32 -1, ptr @failed monotonic, align 4
  store atomic i32 1, ptr @computing monotonic, align 4
  %some = icmp ne i64 %rest, 0
  %extra = zext i1 %some to i64
  %first.units = add i64 %each, %extra
  %first.count = mul i64 %first.units, %unit
  %first.end = call i64 @llvm.umin.i64(i64 %first.count, i64 %count)
  br label %deal
deal:
  %part = phi i64 [1, %split], [%part.next, %dealt]
  %begin = phi i64 [%first.end, %split], [%end, %dealt]
  %dozing = phi i1 [false, %split], [%dozing.next, %dealt]
  %more = icmp ult i64 %part, %rest
  %more.wide = zext i1 %more to i64
  %own.units = add i64 %each, %more.wide
  %own.count = mul i64 %own.units, %unit
  %end.far = add i64 %begin, %own.count
  %end = call i64 @llvm.umin.i64(i64 %end.far, i64 %count)
  %at = sub i64 %part, 1
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %at
  %body.field = getelementptr inbounds %box, ptr %box, i64 0, i32 2
  %closure.field = getelementptr inbounds %box, ptr %box, i64 0, i32 3
  %begin.field = getelementptr inbounds %box, ptr %box, i64 0, i32 4
  %end.field = getelementptr inbounds %box, ptr %box, i64 0, i32 5
  store ptr %body, ptr %body.field, align 8
  store ptr %closure, ptr %closure.field, align 8
  store i64 %begin, ptr %begin.field, align 8
  store i64 %end, ptr %end.field, align 8
  %sleeper = getelementptr inbounds [{most} x i8], ptr %sleepers, i64 0, i64 %at
  %old = load atomic i32, ptr %box acquire, align 4
  %old.bit = trunc i32 %old to i8
  %old.asleep = and i8 %old.bit, 1
  store i8 %old.asleep, ptr %sleeper, align 1
  %dozes = icmp ne i8 %old.asleep, 0
  br i1 %dozes, label %dealt, label %hand
hand:
  call void @hand(ptr %box)
  br label %dealt
dealt:
  %dozing.next = or i1 %dozing, %dozes
  %part.next = add i64 %part, 1
  %all = icmp eq i64 %part.next, %threads
  br i1 %all, label %handed, label %deal
handed:
  br i1 %dozing.next, label %sleepy, label %own
sleepy:
  call void @survey(i32 %others)
  br label %waking
waking:
  %sleeper.at = phi i64 [0, %sleepy], [%sleeper.next, %woken]
  %sleeper.here = getelementptr inbounds [{most} x i8], ptr %sleepers, i64 0, i64 %sleeper.at
  %sleeper.bit = load i8, ptr %sleeper.here, align 1
  %sleeper.asleep = icmp ne i8 %sleeper.bit, 0
  br i1 %sleeper.asleep, label %knock, label %woken
knock:
  %sleeper.box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %sleeper.at
  call void @place(i64 %sleeper.at)
  call void @hand(ptr %sleeper.box)
  br label %woken
woken:
  %sleeper.next = add i64 %sleeper.at, 1
  %sleeper.part = add i64 %sleeper.at, 2
  %sleeper.last = icmp eq i64 %sleeper.part, %threads
  br i1 %sleeper.last, label %own, label %waking
own:
  %status = call i32 %body(ptr %closure, i64 0, i64 %first.end, ptr %error, ptr @failed, i32 0)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %joining, label %stop
stop:
  store atomic i32 0, ptr @failed monotonic, align 4
  br label %joining
joining:
  store atomic i32 0, ptr @computing monotonic, align 4
  %others.wide = zext i32 %others to i64
  br label %join
join:
  %awaited.at = phi i64 [0, %joining], [%awaited.next, %finished]
  %awaited = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %awaited.at
  %done.field = getelementptr inbounds %box, ptr %awaited, i64 0, i32 7
  %given = load atomic i32, ptr %awaited monotonic, align 4
  %wanted.done = and i32 %given, -2
  br label %ask
ask:
  %done = load atomic i32, ptr %done.field acquire, align 4
  %over = icmp eq i32 %done, %wanted.done
  br i1 %over, label %finished, label %spin
spin:
  %watched = call i32 @watch(ptr %done.field, i32 %done, ptr @patience)
  %moved = icmp ne i32 %watched, %done
  br i1 %moved, label %ask, label %tired
tired:
  call void @free(i32 %others)
  call void @await()
  %asleep = or i32 %done, 1
  %quiet.pair = cmpxchg ptr %done.field, i32 %done, i32 %asleep acq_rel acquire, align 4
  %quiet = extractvalue {{ i32, i1 }} %quiet.pair, 1
  br i1 %quiet, label %sleep, label %ask
sleep:
  call void @wait(ptr %done.field, i32 %asleep)
  call void @go_on()
  br label %ask
finished:
  %awaited.next = add i64 %awaited.at, 1
  %last = icmp eq i64 %awaited.next, %others.wide
  br i1 %last, label %joined, label %join
joined:
  %first = load atomic i32, ptr @failed monotonic, align 4
  %success = icmp eq i32 %first, -1
  br i1 %success, label %leave, label %collect
collect:
  %told = call i32 @collect(i32 %status, i32 %first, i32 %others, ptr %error)
  br label %leave
leave:
  %answer = phi i32 [0, %joined], [%told, %collect]
  store atomic i32 0, ptr @busy release, align 4
  ret i32 %answer
}}

; the job in a box is its worker's, who is woken if asleep
define internal void @hand(ptr %box) alwaysinline nounwind {{
entry:
  %old = load atomic i32, ptr %box acquire, align 4
  %old.odd = or i32 %old, 1
  %new = add i32 %old.odd, 1
  %was = atomicrmw xchg ptr %box, i32 %new acq_rel, align 4
  %was.asleep = and i32 %was, 1
  %slept = icmp ne i32 %was.asleep, 0
  br i1 %slept, label %knock, label %done
knock:
  call void @wake(ptr %box)
  br label %done
done:
  ret void
}}

; how many workers, counted from the first and `most` of them at most, are there before one that sleeps
define internal i32 @awake(i32 %most) nounwind {{
entry:
  %have = load i32, ptr @workers, align 4
  %last = call i32 @llvm.umin.i32(i32 %have, i32 %most)
  br label %look
look:
  %at = phi i32 [0, %entry], [%next, %on]
  %over = icmp eq i32 %at, %last
  br i1 %over, label %done, label %read
read:
  %wide = zext i32 %at to i64
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %wide
  %given = load atomic i32, ptr %box monotonic, align 4
  %bit = and i32 %given, 1
  %asleep = icmp ne i32 %bit, 0
  br i1 %asleep, label %done, label %on
on:
  %next = add i32 %at, 1
  br label %look
done:
  ret i32 %at
}}

; the result and the record of the part `first`; exceptions of other parts are forgotten
define internal i32 @collect(i32 %status, i32 %first, i32 %others, ptr %error) noinline nounwind {{
entry:
  br label %look
look:
  %at = phi i32 [0, %entry], [%part, %next]
  %answer = phi i32 [%status, %entry], [%answer.next, %next]
  %over = icmp eq i32 %at, %others
  br i1 %over, label %done, label %read
read:
  %wide = zext i32 %at to i64
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %wide
  %status.field = getelementptr inbounds %box, ptr %box, i64 0, i32 8
  %record = getelementptr inbounds %box, ptr %box, i64 0, i32 9
  %own = load i32, ptr %status.field, align 4
  %part = add i32 %at, 1
  %wins = icmp eq i32 %part, %first
  br i1 %wins, label %take, label %other
take:
  call void @llvm.memcpy.p0.p0.i64(ptr %error, ptr %record, i64 {error}, i1 false)
  br label %next
other:
  %raised = icmp eq i32 %own, {raised}
  br i1 %raised, label %drop, label %next
drop:
  %ticket.field = getelementptr inbounds i8, ptr %record, i64 8
  %ticket = load i64, ptr %ticket.field, align 8
  %forget = load ptr, ptr @tirscript_forget, align 8
  call void %forget(i64 %ticket)
  br label %next
next:
  %answer.next = phi i32 [%own, %take], [%answer, %other], [%answer, %drop]
  br label %look
done:
  ret i32 %answer
}}

; in the child of a fork: its only thread is this one, so there is no worker, and nobody else is in the pool
define void @tirscript_forked() nounwind {{
  store i32 0, ptr @workers, align 4
  store atomic i32 0, ptr @busy monotonic, align 4
  store atomic i32 0, ptr @computing monotonic, align 4
  call void @renew()
  ret void
}}

define void @tirscript_prepare() nounwind {{
  call void @renew()
  ret void
}}

; so many looks at a word that stays as it is, to find how long one takes
define void @tirscript_look(i32 %times) nounwind {{
entry:
  %word = alloca i32, align 4
  store i32 0, ptr %word, align 4
  br label %look
look:
  %round = phi i32 [0, %entry], [%next, %look]
  %now = load atomic i32, ptr %word acquire, align 4
  {pause}
  %next = add i32 %round, 1
  %on = icmp ult i32 %next, %times
  br i1 %on, label %look, label %done
done:
  ret void
}}
"""

STACK = 8 << 20  # bytes, the usual size on Linux; musl's own would be too small for a frame of 256 KiB


def pool_text(triple: str, *, threads: bool = True, futex: bool = True) -> str:
    """The IR of the pool for a target triple.

    threads: whether the system has POSIX threads; without, every loop runs in its caller
    futex:   sleep by the system call futex (Linux), rather than by a condition variable
    """
    processor = triple.partition("-")[0]
    darwin = "darwin" in triple or "macos" in triple
    # numbers of SIG_SETMASK and PTHREAD_CREATE_DETACHED
    start = _START.format(setmask=3 if darwin else 2, detached=2 if darwin else 1, stack=STACK)
    linux = threads and futex and has_futex(triple)
    pool = _POOL.format(
        error=ERROR_BYTES,
        rest=256 - 136 - ERROR_BYTES - 16,
        most=MOST_THREADS,
        raised=RAISED,
        pause=_PAUSE.get(processor, ""),
    )
    placement = placement_text(processor, MOST_THREADS, linux)
    waiting = waiting_text(triple, threads=threads, futex=linux)
    return pool + _PAUSE_DECLARED.get(processor, "") + waiting + placement + (start if threads else _NO_START)
