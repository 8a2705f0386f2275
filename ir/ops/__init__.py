"""The entries of the operator table, by family."""

from . import arithmetic, bits, compare, foreign, math, special  # noqa: F401  (each fills the table)
