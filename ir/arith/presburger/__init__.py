"""Presburger arithmetic through isl: proofs, counterexamples, index maps, dependences.

islpy is loaded by the first question that bounds alone do not answer.
"""

from .index_maps import Collision, MappedDomain
from .limits import OPERATIONS, Unknown
from .prove import Counterexample, counterexample, prove

__all__ = ["OPERATIONS", "Collision", "Counterexample", "MappedDomain", "Unknown", "counterexample", "prove"]
