"""The language: what a program is. No parsing, printing, lowering."""

from . import ops as _ops  # noqa: F401  (fills the table of operators)
from .buffer import Buffer
from .diagnostic import Diagnostic, DiagnosticError, Label, error, suggest
from .dtype import DType, dtype, pointer
from .equal import Difference, differences, structural_equal, structural_hash
from .expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Const,
    Expr,
    Let,
    Ramp,
    Range,
    StringImm,
    Var,
    const,
    is_const,
)
from .func import PrimFunc
from .module import Module
from .node import NO_ATTRS, Attrs, Binder, Node, recursion_room
from .op import OPS, Op, cast, get_op
from .rewrite import children, definitions, free_buffers, free_vars, map_children, refresh, rewrite, substitute, walk
from .span import Source, Span, Trivia
from .stmt import (
    AXIS_KINDS,
    LOOP_KINDS,
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
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)
from .verify import check_well_formed, verify

__all__ = [name for name in dir() if not name.startswith("_")]
