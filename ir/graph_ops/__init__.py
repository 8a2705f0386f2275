"""The one table of graph operators, by family."""
