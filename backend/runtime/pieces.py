"""How the threads of a loop share its parts, as LLVM IR text.

The part of each thread is a row of pieces. Its owner takes them from the front, one after the other; who has none left
takes some from the back of other parts, so that nobody waits for a thread that is slow, or has not woken up. What is
left of a part is one word in its box, which every taker exchanges: the number of the job (its low bit: the owner has
begun), the next piece, and the end of the pieces.

A job is over when no part has a piece left and every worker that has begun is done. A worker that comes too late finds
the number of another job there, or no piece, and touches nothing else: the box may already be that of the next job. Who
has begun may read the boxes of others that have been given the same job, since these stay as they are until it is done.

`take` takes a piece, `run` runs it, `help` takes from all others, `collect` finds out what failed first. A piece that
fails ends what its thread does, but for the caller's, which has to see that all pieces have been taken; it passes over
those above the first one that failed, and may so fail again, at one below.
"""

from __future__ import annotations

# the number of a piece, by which errors are in order: that of its part in the upper half
_PIECES = """
@left = internal global [32 x i32] zeroinitializer, align 128
@sharing = internal global i32 0, align 4
@spare = internal global [{error} x i8] zeroinitializer, align 128

; a piece of a box's part, the next one for its `owner` and the last one for others; -1 where none is left, or the job
; is another
define internal i32 @take(ptr %box, i32 %job, i1 %owner) nounwind {{
entry:
  %progress = getelementptr inbounds %box, ptr %box, i64 0, i32 4
  %first = load atomic i64, ptr %progress acquire, align 8
  br label %look
look:
  %now = phi i64 [%first, %entry], [%other, %exchange]
  %there = call i1 @has_piece(i64 %now, i32 %job)
  br i1 %there, label %exchange, label %none
exchange:
  %begun = or i64 %now, 4294967296
  %further = add i64 %begun, 65536
  %fewer = sub i64 %now, 1
  %rest = select i1 %owner, i64 %further, i64 %fewer
  %pair = cmpxchg ptr %progress, i64 %now, i64 %rest acq_rel acquire, align 8
  %other = extractvalue {{ i64, i1 }} %pair, 0
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %taken, label %look
taken:
  call void @count(ptr %box)
  %next = lshr i64 %now, 16
  %which = select i1 %owner, i64 %next, i64 %fewer
  %narrow = trunc i64 %which to i32
  %index = and i32 %narrow, 65535
  ret i32 %index
none:
  ret i32 -1
}}

define internal i1 @has_piece(i64 %progress, i32 %job) alwaysinline nounwind {{
  %upper = lshr i64 %progress, 32
  %number = trunc i64 %upper to i32
  %plain = and i32 %number, -2
  %same = icmp eq i32 %plain, %job
  %next.far = lshr i64 %progress, 16
  %next = and i64 %next.far, 65535
  %end = and i64 %progress, 65535
  %some = icmp ult i64 %next, %end
  %there = and i1 %same, %some
  ret i1 %there
}}

; a piece has been taken: where parts have several, all know how many are left
define internal void @count(ptr %box) alwaysinline nounwind {{
  %many.field = getelementptr inbounds %box, ptr %box, i64 0, i32 3
  %many = load i32, ptr %many.field, align 4
  %several = icmp ne i32 %many, 0
  br i1 %several, label %less, label %done
less:
  atomicrmw sub ptr @left, i32 1 monotonic, align 4
  br label %done
done:
  ret void
}}

; run a piece of the part of `box` for the thread of the box `own`; what the body returns, 0 for a piece passed over
define internal i32 @run(ptr %box, i32 %index, ptr %own) nounwind {{
entry:
  %part.field = getelementptr inbounds %box, ptr %box, i64 0, i32 1
  %body.field = getelementptr inbounds %box, ptr %box, i64 0, i32 5
  %closure.field = getelementptr inbounds %box, ptr %box, i64 0, i32 6
  %begin.field = getelementptr inbounds %box, ptr %box, i64 0, i32 7
  %end.field = getelementptr inbounds %box, ptr %box, i64 0, i32 8
  %piece.field = getelementptr inbounds %box, ptr %box, i64 0, i32 9
  %status.field = getelementptr inbounds %box, ptr %own, i64 0, i32 11
  %order.field = getelementptr inbounds %box, ptr %own, i64 0, i32 12
  %error = getelementptr inbounds %box, ptr %own, i64 0, i32 13
  %part = load i32, ptr %part.field, align 4
  %part.upper = shl i32 %part, 16
  %order = or i32 %part.upper, %index
  %first = load atomic i32, ptr @failed monotonic, align 4
  %late = icmp ult i32 %first, %order
  br i1 %late, label %passed, label %begin
passed:
  ret i32 0
begin:
  %body = load ptr, ptr %body.field, align 8
  %closure = load ptr, ptr %closure.field, align 8
  %part.begin = load i64, ptr %begin.field, align 8
  %part.end = load i64, ptr %end.field, align 8
  %piece = load i64, ptr %piece.field, align 8
  %index.wide = zext i32 %index to i64
  %before = mul i64 %index.wide, %piece
  %own.begin = add i64 %part.begin, %before
  %own.far = add i64 %own.begin, %piece
  %own.end = call i64 @llvm.umin.i64(i64 %own.far, i64 %part.end)
  %status.before = load i32, ptr %status.field, align 4
  %fresh = icmp eq i32 %status.before, 0
  %record = select i1 %fresh, ptr %error, ptr @spare
  %status = call i32 %body(ptr %closure, i64 %own.begin, i64 %own.end, ptr %record, ptr @failed, i32 %order)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %done, label %broken
broken:
  br i1 %fresh, label %note, label %replace
replace:
  call void @drop(i32 %status.before, ptr %error)
  call void @llvm.memcpy.p0.p0.i64(ptr %error, ptr @spare, i64 {error}, i1 false)
  br label %note
note:
  store i32 %status, ptr %status.field, align 4
  store i32 %order, ptr %order.field, align 4
  atomicrmw umin ptr @failed, i32 %order monotonic, align 4
  br label %done
done:
  ret i32 %status
}}

; forget what a record tells that nobody is told
define internal void @drop(i32 %status, ptr %record) noinline nounwind {{
  %raised = icmp eq i32 %status, {raised}
  br i1 %raised, label %forget, label %done
forget:
  %ticket.field = getelementptr inbounds i8, ptr %record, i64 8
  %ticket = load i64, ptr %ticket.field, align 8
  %function = load ptr, ptr @tirscript_forget, align 8
  call void %function(i64 %ticket)
  br label %done
done:
  ret void
}}

; take pieces from all others, by a worker that has none left, while there are some that nobody has begun
define internal void @help(ptr %own, i32 %job) noinline nounwind {{
entry:
  %part.field = getelementptr inbounds %box, ptr %own, i64 0, i32 1
  %part = load i32, ptr %part.field, align 4
  %threads = load i32, ptr @sharing, align 4
  br label %following
following:
  %at = phi i32 [%part, %entry], [%next, %look], [%next, %take]
  %left = load atomic i32, ptr @left monotonic, align 4
  %none = icmp eq i32 %left, 0
  br i1 %none, label %done, label %further
further:
  %more = add i32 %at, 1
  %around = icmp eq i32 %more, %threads
  %next = select i1 %around, i32 0, i32 %more
  %home = icmp eq i32 %next, %part
  br i1 %home, label %done, label %look
look:
  %wide = zext i32 %next to i64
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %wide
  %given = load atomic i32, ptr %box acquire, align 4
  %same = icmp eq i32 %given, %job
  br i1 %same, label %take, label %following
take:
  %index = call i32 @take(ptr %box, i32 %job, i1 false)
  %found = icmp ne i32 %index, -1
  br i1 %found, label %piece, label %following
piece:
  %status = call i32 @run(ptr %box, i32 %index, ptr %own)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %take, label %done
done:
  ret void
}}

; the result and the record of the piece `first`; exceptions of other pieces are forgotten
define internal i32 @collect(i32 %first, i32 %others, ptr %error) noinline nounwind {{
entry:
  br label %look
look:
  %at = phi i32 [0, %entry], [%at.next, %next]
  %answer = phi i32 [0, %entry], [%answer.next, %next]
  %over = icmp ugt i32 %at, %others
  br i1 %over, label %done, label %read
read:
  %at.next = add i32 %at, 1
  %wide = zext i32 %at to i64
  %box = getelementptr inbounds [{most} x %box], ptr @boxes, i64 0, i64 %wide
  %progress.field = getelementptr inbounds %box, ptr %box, i64 0, i32 4
  %status.field = getelementptr inbounds %box, ptr %box, i64 0, i32 11
  %order.field = getelementptr inbounds %box, ptr %box, i64 0, i32 12
  %record = getelementptr inbounds %box, ptr %box, i64 0, i32 13
  %progress = load atomic i64, ptr %progress.field monotonic, align 8
  %begun.bit = and i64 %progress, 4294967296
  %begun = icmp ne i64 %begun.bit, 0
  %caller = icmp eq i32 %at, 0
  %took = or i1 %begun, %caller
  br i1 %took, label %ask, label %next
ask:
  %status = load i32, ptr %status.field, align 4
  %order = load i32, ptr %order.field, align 4
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %which, label %next
which:
  %wins = icmp eq i32 %order, %first
  br i1 %wins, label %take, label %other
take:
  call void @llvm.memcpy.p0.p0.i64(ptr %error, ptr %record, i64 {error}, i1 false)
  br label %next
other:
  call void @drop(i32 %status, ptr %record)
  br label %next
next:
  %answer.next = phi i32 [%answer, %read], [%answer, %ask], [%status, %take], [%answer, %other]
  br label %look
done:
  ret i32 %answer
}}
"""


def pieces_text(*, error: int, raised: int, most: int) -> str:
    """The functions, for error records of so many bytes, the status of pieces that raised, and so many threads."""
    return _PIECES.format(error=error, raised=raised, most=most)


__all__ = ["pieces_text"]
