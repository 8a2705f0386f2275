"""Presburger arithmetic through isl: proofs, counterexamples, index maps, dependences.

islpy is loaded by the first question that bounds alone do not answer.
"""

from .cuts import Cut, cut_of
from .dependences import Dependence, Dependences, Iterations, dependences
from .index_maps import Collision, MappedDomain
from .legality import (
    Uncovered,
    Verdict,
    carried,
    dead_stores,
    fills_first,
    is_parallel,
    last_writes,
    may_merge,
    may_parallel,
    may_permute,
    may_swap,
    uncovered_reads,
)
from .limits import OPERATIONS, Unknown
from .prove import Counterexample, counterexample, prove

__all__ = [
    "OPERATIONS",
    "Collision",
    "Counterexample",
    "Cut",
    "Dependence",
    "Dependences",
    "Iterations",
    "MappedDomain",
    "Uncovered",
    "Unknown",
    "carried",
    "Verdict",
    "counterexample",
    "cut_of",
    "dead_stores",
    "dependences",
    "fills_first",
    "is_parallel",
    "last_writes",
    "may_merge",
    "may_parallel",
    "may_permute",
    "may_swap",
    "prove",
    "uncovered_reads",
]
