"""Taking a block away, with the loops that held nothing else."""

from __future__ import annotations

from tirscript.ir.stmt import For, If

from ..statements import keep_comments
from .edit import Edit
from .tree import Place


def remove(edit: Edit, place: Place) -> None:
    """Delete the statement at `place`, and the loops and branches around it that are empty then.

    Its comments go to the statement behind it, where there is one.
    """
    while True:
        parent = place.parent
        assert parent is not None
        alone = len(place.siblings()) == 1
        if alone and type(parent.stmt) in (For, If) and not (type(parent.stmt) is If and parent.stmt.orelse):
            place = parent
            continue
        break
    siblings = place.siblings()
    gone = place.stmt
    if place.index + 1 < len(siblings) and gone.trivia is not None:
        following = siblings[place.index + 1]
        edit.tree.update(following, keep_comments(gone, (following.stmt,))[0])
    edit.replace(place)


__all__ = ["remove"]
