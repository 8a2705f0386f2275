"""The fork-join pool as LLVM IR text, compiled once a process: threads that wait for work, and a function that deals
a loop out to them.

`i32 tirscript_parallel(ptr body, ptr closure, i64 count, i64 grain, i64 unit, i64 rouse, i64 piece, ptr error)` runs
the iterations 0 to `count` of a loop, each once, and returns when all are done. Each thread has a part: consecutive
iterations, in order, at least `grain` of them, beginning at a multiple of `unit` (both at least 1, `grain` no less than
`unit`). The split depends on nothing but these numbers and that of the threads. The caller has part 0. A part is cut
into at most eight pieces of at least `piece` and `grain` iterations, also at multiples of `unit`, the last of what is
left; threads that have none left take those of others (pieces.py). A piece is a call of

    i32 body(ptr closure, i64 begin, i64 end, ptr error, ptr failed, i32 number)

by one thread. It returns 0, or what ended it, after which its error record tells the rest. `failed` holds the least
number of a piece that has failed so far: a piece above it need not go on. The result is that of the least piece that
failed, with its record in `error`, so it is that of the first iteration that fails, as in a loop run in order.

Threads that sleep take long to wake. Where a thread would get less than `rouse` iterations, no more are woken than get
so many, which may be none; but not more than 8 times in a row, since loops that come one after the other keep the
threads awake. Who is awake is given work first, and then the others are woken, one by one.

There is one pool. Where it is taken - by another thread, or by a loop around this one - the caller runs all iterations
itself: nobody ever waits for the pool.

How threads talk (docs/threads.md tells why this is right). Each thread has a box, the caller that of part 0. `given` is
the number of the last job put into it, an even one; its low bit says that the worker sleeps, or is about to. The caller
writes the job and then exchanges `given` (release); the worker has seen a new number (acquire) when it takes a piece.
`done` is the number of the last job done; its low bit says that the caller sleeps. One exchange thus both tells the
news and whether somebody must be woken for it. All of it is one line of the caches, so that a job costs the way there
and the way back between two processors and little more.
"""

from __future__ import annotations

from .pieces import pieces_text
from .placement import placement_text
from .starting import starting_text
from .waiting import has_futex, waiting_text

MOST_THREADS = 256
PIECES = 8  # of a part at most
ERROR_BYTES = 72  # of an error record, see llvm/sites.py
RAISED = 2  # what a piece returns where Python code that it called has raised: its record then holds a ticket

# what a thread does between two looks at a word that another will change
_PAUSE = {"x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.isb(i32 15)"}
_PAUSE_DECLARED = {"x86_64": "declare void @llvm.x86.sse2.pause()", "aarch64": "declare void @llvm.aarch64.isb(i32)"}

_POOL = """
; how many threads run a loop, and how often a thread looks at a word before it sleeps; set by Python at any time
@tirscript_threads = global i32 1, align 4
@tirscript_spins = global i32 0, align 4
; forgets the exception of a ticket; set once
@tirscript_forget = global ptr null, align 8

; given, part, done, whether parts have several pieces, progress, body, closure, begin, end, iterations of a piece;
; status, number of the piece that failed, error record; thread, processor, whether it was placed
%box = type {{ i32, i32, i32, i32, i64, ptr, ptr, i64, i64, i64, [64 x i8], i32, i32, [{error} x i8], i32, i32, i32,
               [{rest} x i8] }}
@boxes = internal global [{most} x %box] zeroinitializer, align 128
@busy = internal global [32 x i32] zeroinitializer, align 128
@patience = internal global [32 x i32] zeroinitializer, align 128
@failed = internal global [32 x i32] zeroinitializer, align 128
@workers = internal global i32 0, align 4
@job = internal global i32 0, align 4
@spared = internal global i32 0, align 4
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)

; look at a word until it is no longer `seen`, a bounded number of times: twice as often as the last time where that
; was not in vain, half as often where it was; at every 8th time an eighth of what is allowed at least, at every 256th
; all of it. While a loop runs nothing is in vain yet: its threads will be needed for the next one. So they look on by
; turns of an eighth, until it has ended
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
  %round = phi i32 [0, %entry], [%next, %pause], [0, %out]
  %bound = phi i32 [%turn.first, %entry], [%bound, %pause], [%eighth, %out]
  %times = phi i32 [1, %entry], [%times, %pause], [%times.next, %out]
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
  br i1 %longer, label %look, label %done
done:
  %half = lshr i32 %usual, 1
  %double.most = shl i32 %most, 1
  %double = or i32 %double.most, 64
  %patience.next = select i1 %same, i32 %half, i32 %double
  store i32 %patience.next, ptr %patience, align 4
  ret i32 %now
}}

; a worker's life: it has done the job `last`, or what was left of it, and waits for another
define internal ptr @work(ptr %box) nounwind {{
entry:
  %patience = alloca [2 x i32], align 4
  store i64 0, ptr %patience, align 4
  %part.field = getelementptr inbounds %box, ptr %box, i64 0, i32 1
  %done.field = getelementptr inbounds %box, ptr %box, i64 0, i32 2
  %many.field = getelementptr inbounds %box, ptr %box, i64 0, i32 3
  %status.field = getelementptr inbounds %box, ptr %box, i64 0, i32 11
  %part = load i32, ptr %part.field, align 4
  br label %idle
idle:
  %last = phi i32 [0, %entry], [%word, %missed], [%word, %over], [%word, %tell]
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
  %first = call i32 @take(ptr %box, i32 %word, i1 true)
  %late = icmp eq i32 %first, -1
  br i1 %late, label %missed, label %begin
missed:
  %wished = load i32, ptr %patience, align 4
  %allowed = load atomic i32, ptr @tirscript_spins monotonic, align 4
  %eighth = lshr i32 %allowed, 3
  %wished.more = call i32 @llvm.umax.i32(i32 %wished, i32 %eighth)
  store i32 %wished.more, ptr %patience, align 4
  br label %idle
begin:
  store i32 0, ptr %status.field, align 4
  call void @here(ptr %box)
  %many = load i32, ptr %many.field, align 4
  %several = icmp ne i32 %many, 0
  br label %piece
piece:
  %index = phi i32 [%first, %begin], [%more, %next]
  %status = call i32 @run(ptr %box, i32 %index, ptr %box)
  %good = icmp eq i32 %status, 0
  %on = and i1 %good, %several
  br i1 %on, label %next, label %finish
next:
  %more = call i32 @take(ptr %box, i32 %word, i1 true)
  %none = icmp eq i32 %more, -1
  br i1 %none, label %others, label %piece
others:
  call void @help(ptr %box, i32 %word)
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
  br i1 %awaited, label %tell, label %idle
tell:
  call void @wake(ptr %done.field)
  br label %idle
}}

define i32 @tirscript_parallel(
    ptr %body, ptr %closure, i64 %count, i64 %grain, i64 %unit, i64 %rouse, i64 %piece, ptr %error) nounwind {{
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
  %job.last = load i32, ptr @job, align 4
  %job = add i32 %job.last, 2
  store i32 %job, ptr @job, align 4
  %some = icmp ne i64 %rest, 0
  %extra = zext i1 %some to i64
  %longest = add i64 %each, %extra
  %longest.count = mul i64 %longest, %unit
  %least.count = call i64 @llvm.umax.i64(i64 %piece, i64 %grain)
  %twice = shl i64 %least.count, 1
  %small = icmp ugt i64 %twice, %longest.count
  br i1 %small, label %whole, label %cut
cut:
  %piece.far = add i64 %least.count, %unit
  %piece.far.less = sub i64 %piece.far, 1
  %least = udiv i64 %piece.far.less, %unit
  %fitting.far = add i64 %longest, {pieces_less}
  %fitting = udiv i64 %fitting.far, {pieces}
  %piece.units = call i64 @llvm.umax.i64(i64 %least, i64 %fitting)
  %cut.size = mul i64 %piece.units, %unit
  %piece.less = sub i64 %piece.units, 1
  %each.far = add i64 %each, %piece.less
  %each.pieces = udiv i64 %each.far, %piece.units
  %more.far = add i64 %each.far, 1
  %more.pieces = udiv i64 %more.far, %piece.units
  %each.parts = sub i64 %threads, %rest
  %each.all = mul i64 %each.parts, %each.pieces
  %more.all = mul i64 %rest, %more.pieces
  %all.pieces = add i64 %each.all, %more.all
  %left = trunc i64 %all.pieces to i32
  store atomic i32 %left, ptr @left monotonic, align 4
  store i32 %threads.narrow, ptr @sharing, align 4
  br label %whole
whole:
  %size = phi i64 [%longest.count, %split], [%cut.size, %cut]
  %pieces.each = phi i64 [1, %split], [%each.pieces, %cut]
  %pieces.more = phi i64 [1, %split], [%more.pieces, %cut]
  %several = phi i32 [0, %split], [1, %cut]
  %job.wide = zext i32 %job to i64
  %job.upper = shl i64 %job.wide, 32
  br label %deal
deal:
  %part = phi i64 [0, %whole], [%part.next, %dealt]
  %begin = phi i64 [0, %whole], [%end, %dealt]
  %dozing = phi i1 [false, %whole], [%dozing.next, %dealt]
  %longer = icmp ult i64 %part, %rest
  %longer.wide = zext i1 %longer to i64
  %own.units = add i64 %each, %longer.wide
  %own.count = mul i64 %own.units, %unit
  %end.far = add i64 %begin, %own.count
  %end = call i64 @llvm.umin.i64(i64 %end.far, i64 %count)
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %part
  %many.field = getelementptr inbounds %box, ptr %box, i64 0, i32 3
  %progress.field = getelementptr inbounds %box, ptr %box, i64 0, i32 4
  %body.field = getelementptr inbounds %box, ptr %box, i64 0, i32 5
  %closure.field = getelementptr inbounds %box, ptr %box, i64 0, i32 6
  %begin.field = getelementptr inbounds %box, ptr %box, i64 0, i32 7
  %end.field = getelementptr inbounds %box, ptr %box, i64 0, i32 8
  %piece.field = getelementptr inbounds %box, ptr %box, i64 0, i32 9
  store i32 %several, ptr %many.field, align 4
  store ptr %body, ptr %body.field, align 8
  store ptr %closure, ptr %closure.field, align 8
  store i64 %begin, ptr %begin.field, align 8
  store i64 %end, ptr %end.field, align 8
  store i64 %size, ptr %piece.field, align 8
  %pieces = select i1 %longer, i64 %pieces.more, i64 %pieces.each
  %done.field.own = getelementptr inbounds %box, ptr %box, i64 0, i32 2
  store atomic i32 %job.last, ptr %done.field.own monotonic, align 4 ; not what it did when numbers were these before
  %progress = or i64 %job.upper, %pieces
  store atomic i64 %progress, ptr %progress.field release, align 8
  %sleeper = getelementptr inbounds [{most} x i8], ptr %sleepers, i64 0, i64 %part
  %old = load atomic i32, ptr %box acquire, align 4
  %old.bit = trunc i32 %old to i8
  %old.asleep = and i8 %old.bit, 1
  store i8 %old.asleep, ptr %sleeper, align 1
  %dozes = icmp ne i8 %old.asleep, 0
  br i1 %dozes, label %dealt, label %hand
hand:
  call void @hand(ptr %box, i32 %job)
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
  %sleeper.at = phi i64 [1, %sleepy], [%sleeper.next, %woken]
  %sleeper.here = getelementptr inbounds [{most} x i8], ptr %sleepers, i64 0, i64 %sleeper.at
  %sleeper.bit = load i8, ptr %sleeper.here, align 1
  %sleeper.asleep = icmp ne i8 %sleeper.bit, 0
  br i1 %sleeper.asleep, label %knock, label %woken
knock:
  %sleeper.box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %sleeper.at
  call void @place(i64 %sleeper.at)
  call void @hand(ptr %sleeper.box, i32 %job)
  br label %woken
woken:
  %sleeper.next = add i64 %sleeper.at, 1
  %sleeper.last = icmp eq i64 %sleeper.next, %threads
  br i1 %sleeper.last, label %own, label %waking
own:
  %own.status = getelementptr inbounds %box, ptr @boxes, i64 0, i32 11
  store i32 0, ptr %own.status, align 4
  br label %begin.own
begin.own:
  %index = call i32 @take(ptr @boxes, i32 %job, i1 true)
  %own.none = icmp eq i32 %index, -1
  br i1 %own.none, label %joining, label %piece.own
piece.own:
  %status = call i32 @run(ptr @boxes, i32 %index, ptr @boxes)
  br label %begin.own
joining:
  %others.wide = zext i32 %others to i64
  br label %join
join:
  %awaited.at = phi i64 [1, %joining], [%awaited.next, %finished]
  %awaited = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %awaited.at
  %done.field = getelementptr inbounds %box, ptr %awaited, i64 0, i32 2
  %awaited.progress = getelementptr inbounds %box, ptr %awaited, i64 0, i32 4
  br label %rescue
rescue:
  %back = call i32 @take(ptr %awaited, i32 %job, i1 false)
  %nothing = icmp eq i32 %back, -1
  br i1 %nothing, label %exhausted, label %piece.other
piece.other:
  %status.other = call i32 @run(ptr %awaited, i32 %back, ptr @boxes)
  br label %rescue
exhausted:
  %reached = load atomic i64, ptr %awaited.progress acquire, align 8
  %reached.bit = and i64 %reached, 4294967296
  %begun = icmp ne i64 %reached.bit, 0
  br i1 %begun, label %ask, label %finished
ask:
  %done = load atomic i32, ptr %done.field acquire, align 4
  %over = icmp eq i32 %done, %job
  br i1 %over, label %finished, label %spin
spin:
  %watched = call i32 @watch(ptr %done.field, i32 %done, ptr @patience)
  %moved = icmp ne i32 %watched, %done
  br i1 %moved, label %ask, label %tired
tired:
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
  %last = icmp ugt i64 %awaited.next, %others.wide
  br i1 %last, label %joined, label %join
joined:
  %first = load atomic i32, ptr @failed monotonic, align 4
  %success = icmp eq i32 %first, -1
  br i1 %success, label %leave, label %collect
collect:
  %told = call i32 @collect(i32 %first, i32 %others, ptr %error)
  br label %leave
leave:
  %answer = phi i32 [0, %joined], [%told, %collect]
  store atomic i32 0, ptr @busy release, align 4
  ret i32 %answer
}}

; the job in a box is its worker's, who is woken if asleep
define internal void @hand(ptr %box, i32 %job) alwaysinline nounwind {{
entry:
  %was = atomicrmw xchg ptr %box, i32 %job acq_rel, align 4
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
  %next = add i32 %at, 1
  %wide = zext i32 %next to i64
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %wide
  %given = load atomic i32, ptr %box monotonic, align 4
  %bit = and i32 %given, 1
  %asleep = icmp ne i32 %bit, 0
  br i1 %asleep, label %done, label %on
on:
  br label %look
done:
  ret i32 %at
}}

; in the child of a fork: its only thread is this one, so there is no worker, and nobody else is in the pool
define void @tirscript_forked() nounwind {{
  store i32 0, ptr @workers, align 4
  store atomic i32 0, ptr @busy monotonic, align 4
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


def pool_text(triple: str, *, threads: bool = True, futex: bool = True) -> str:
    """The IR of the pool for a target triple.

    threads: whether the system has POSIX threads; without, every loop runs in its caller
    futex:   sleep by the system call futex (Linux), rather than by a condition variable
    """
    processor = triple.partition("-")[0]
    linux = threads and futex and has_futex(triple)
    pool = _POOL.format(
        error=ERROR_BYTES,
        rest=256 - 136 - ERROR_BYTES - 12,
        pieces=PIECES,
        pieces_less=PIECES - 1,
        most=MOST_THREADS,
        raised=RAISED,
        pause=_PAUSE.get(processor, ""),
    )
    placement = placement_text(processor, MOST_THREADS, linux)
    waiting = waiting_text(triple, threads=threads, futex=linux)
    pieces = pieces_text(error=ERROR_BYTES, raised=RAISED, most=MOST_THREADS)
    starting = starting_text(triple, threads=threads)
    return pool + pieces + _PAUSE_DECLARED.get(processor, "") + waiting + placement + starting
