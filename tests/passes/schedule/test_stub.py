"""What type checkers know of schedules is what the table of primitives says."""

from __future__ import annotations

import ast
import inspect
import pydoc
from pathlib import Path

from helpers.schedule_kernels import chain

from tirscript.passes import schedule
from tirscript.passes.schedule import PRIMITIVES, Schedule


def methods() -> dict[str, ast.FunctionDef]:
    path = Path(schedule.__file__).parent / "schedule.pyi"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (cls,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert cls.name == "Schedule"
    return {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}


def test_every_primitive_has_its_parameters() -> None:
    found = methods()
    for name, entry in PRIMITIVES.items():
        args = found[name].args
        names = [arg.arg for arg in (*args.args, *args.kwonlyargs, *([args.vararg] if args.vararg else []))]
        assert sorted(names[1:] if names[0] == "self" else names) == sorted([*entry.signature.parameters]), name
        assert ast.get_docstring(found[name]) == entry.doc, name


def test_every_public_method_is_there() -> None:
    own = {name for name in vars(Schedule) if not name.startswith("_")}
    assert own | set(PRIMITIVES) == {name for name in methods() if not name.startswith("_")}


def test_handles_are_never_called_places() -> None:
    text = {ast.unparse(node.returns) for node in methods().values() if node.returns is not None}
    arguments = {ast.unparse(arg.annotation) for node in methods().values() for arg in node.args.args if arg.annotation}
    assert "BlockHandle" in text and "list[LoopHandle]" in text
    assert not any("Place" in one or "At" in one for one in text | arguments)


def test_signatures_and_help_are_of_what_users_write() -> None:
    sch = Schedule(chain)
    for name, entry in PRIMITIVES.items():
        assert inspect.signature(getattr(sch, name)) == entry.signature
    assert "split(loop: 'LoopAt', factors" in pydoc.plain(pydoc.render_doc(sch.split))
