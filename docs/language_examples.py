"""The examples of the tables in docs/language.md: every construct, in the smallest program that shows it."""

from __future__ import annotations

import language_graphs
import language_programs
import language_statements
import language_values
from language_example import Example

SECTIONS: dict[str, tuple[Example, ...]] = {
    **language_statements.SECTIONS,
    **language_values.SECTIONS,
    **language_programs.SECTIONS,
    **language_graphs.SECTIONS,
}
__all__ = ["SECTIONS", "Example"]
