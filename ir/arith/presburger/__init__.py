"""Presburger arithmetic through isl: proofs, counterexamples, index maps, dependences.

islpy is loaded by the first question that bounds alone do not answer.
"""

from .limits import OPERATIONS, Unknown
from .prove import Counterexample, counterexample, prove

__all__ = ["OPERATIONS", "Counterexample", "Unknown", "counterexample", "prove"]
