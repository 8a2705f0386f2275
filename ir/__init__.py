"""The language: what a program is. No parsing, printing, lowering."""

from . import expr as _expr
from . import graph as _graph
from . import ops as _ops  # noqa: F401  (fills the table of operators)
from .buffer import Buffer
from .constant import ConstantStore, ConstantTensor, constant
from .diagnostic import Diagnostic, DiagnosticError, Label, error, suggest
from .dtype import DType, dtype, pointer
from .equal import Difference, differences, structural_equal
from .expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    CommReducer,
    Const,
    Expr,
    Let,
    Ramp,
    Range,
    Reduce,
    Shuffle,
    StringImm,
    Var,
    const,
    is_const,
)
from .func import PrimFunc
from .graph import GraphExpr, GraphFunc, GraphType, GraphVar
from .graph_op import GraphOp as _GraphOp
from .hashing import structural_hash
from .index_map import IndexMap
from .module import Module
from .node import NO_ATTRS, Attrs, Binder, Node, recursion_room
from .op import OPS, Op, cast, get_op
from .rewrite import children, definitions, free_buffers, free_vars, map_children, refresh, rewrite, substitute, walk
from .span import Source, Span, Trivia
from .stmt import (
    AXIS_KINDS,
    LOOP_KINDS,
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Axis,
    Bind,
    Block,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)
from .target import Target
from .verify import check_well_formed, verify

# these two files name classes of files that need theirs: whoever reads their annotations, as `help` does, finds them
vars(_expr).update(Buffer=Buffer, Op=Op)
vars(_graph).update(GraphOp=_GraphOp)

__all__ = [
    "AXIS_KINDS",
    "LOOP_KINDS",
    "NO_ATTRS",
    "OPS",
    "AllocBuffer",
    "AllocateConst",
    "Assert",
    "Assume",
    "Attr",
    "Attrs",
    "Axis",
    "Bind",
    "Binder",
    "Block",
    "Break",
    "Broadcast",
    "Buffer",
    "BufferData",
    "BufferLoad",
    "BufferRegion",
    "BufferStore",
    "Call",
    "CallFunction",
    "CommReducer",
    "Const",
    "ConstantStore",
    "ConstantTensor",
    "Continue",
    "DType",
    "DeclBuffer",
    "Diagnostic",
    "DiagnosticError",
    "Difference",
    "Evaluate",
    "Expr",
    "For",
    "GraphExpr",
    "GraphFunc",
    "GraphType",
    "GraphVar",
    "If",
    "IndexMap",
    "Label",
    "LaunchThread",
    "Let",
    "MatchBuffer",
    "Module",
    "Node",
    "Op",
    "PrimFunc",
    "Ramp",
    "Range",
    "Reduce",
    "Return",
    "ScalarDecl",
    "Shuffle",
    "Source",
    "Span",
    "StaticAssert",
    "Stmt",
    "StringImm",
    "Target",
    "Trivia",
    "Var",
    "While",
    "cast",
    "check_well_formed",
    "children",
    "const",
    "constant",
    "definitions",
    "differences",
    "dtype",
    "error",
    "free_buffers",
    "free_vars",
    "get_op",
    "is_const",
    "map_children",
    "pointer",
    "recursion_room",
    "refresh",
    "rewrite",
    "structural_equal",
    "structural_hash",
    "substitute",
    "suggest",
    "verify",
    "walk",
]
