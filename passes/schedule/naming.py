"""Names for blocks: a schedule knows each by its own."""

from __future__ import annotations

import itertools

from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import rewrite
from tirscript.ir.stmt import Block, Stmt

from .tree import Tree


def named_apart(func: PrimFunc) -> PrimFunc:
    """`func` with numbers behind the names of blocks that are not the first of their name."""
    tree = Tree(func)
    name_apart(tree)
    return tree.func


def name_apart(tree: Tree) -> bool:
    """Put numbers behind the names of blocks that are not the first of their name; False where there are none.

    The tree knows blocks by the names that they had.
    """
    places = list(tree.root.below(Block))
    if len(tree.blocks) == len(places) and "" not in tree.blocks:
        return False
    taken = {place.stmt.name for place in places}
    seen: set[str] = set()
    for place in places:
        base = place.stmt.name or "block"
        name, number = base, 0
        while name in seen or (name in taken and name != place.stmt.name):
            number += 1
            name = f"{base}_{number}"
        seen.add(name)
        if name != place.stmt.name:
            tree.update(place, place.stmt.replace(name=name))
    return True


def renamed_apart(body: tuple[Stmt, ...], taken: set[str], suffix: str = "") -> tuple[Stmt, ...]:
    """Statements whose blocks have names with a suffix that are not `taken`, to which they are added."""

    def rename(block: Block) -> Block:
        name = next(name for at in itertools.count() if (name := f"{block.name}{suffix}{at or ''}") not in taken)
        taken.add(name)
        return block if name == block.name else block.replace(name=name)

    return rewrite(body, {Block: rename})
