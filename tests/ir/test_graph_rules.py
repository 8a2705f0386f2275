"""Every class of a graph's statements and values has a rule in every table that goes by them, or is named here with why not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from msgspec import Struct

from tirscript.backend.interpreter import graph as interpreter
from tirscript.ir import Stmt, graph
from tirscript.ir.graph import DeviceValue, DTypeValue, ExternFunction, FunctionRef, GraphExpr, GraphFunc, MetadataConst
from tirscript.ir.graph_ops import infer
from tirscript.ir.wellformed import graph as verifier
from tirscript.printer import graph as printer
from tirscript.printer import graph_values as value_printer

lowering = import_module("tirscript.passes.graph.graph_to_tensor")  # its name is that of the pass in the package


class Table(Struct, frozen=True):
    """The rules of one part, and the classes that have none there."""

    name: str
    of: type
    rules: Any
    without: tuple[type, ...] = ()


TABLES = (
    Table("statements are printed", Stmt, printer.GRAPH_STMT_RULES),
    Table("statements are verified", Stmt, verifier._STATEMENTS),
    Table("statements are interpreted", Stmt, interpreter._STATEMENTS),
    Table("statements become tensor statements", Stmt, lowering._STATEMENTS),
    # a function in a function is printed as a definition
    Table("values are printed", GraphExpr, value_printer.GRAPH_VALUE_RULES, (GraphFunc,)),
    Table("values have types", GraphExpr, infer._RULES),
    Table("values are interpreted", GraphExpr, interpreter._VALUES),
    # functions are called, not computed; dtypes and devices say how; data that is not in the text has no value
    Table(
        "values become tensor values",
        GraphExpr,
        lowering._VALUES,
        (GraphFunc, FunctionRef, ExternFunction, DTypeValue, DeviceValue, MetadataConst),
    ),
)


def classes(of: type) -> set[type]:
    """The classes of graphs below one, the class itself aside."""
    found: set[type] = set()
    todo = [of]
    while todo:
        for cls in todo.pop().__subclasses__():
            todo.append(cls)
            if cls.__module__ == graph.__name__:
                found.add(cls)
    return found


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_class_has_a_rule(table: Table) -> None:
    wanted = classes(table.of)
    assert len(wanted) >= 4
    assert wanted - set(table.rules) == set(table.without)
    assert {cls for cls in table.rules if issubclass(cls, table.of)} == wanted - set(table.without)
