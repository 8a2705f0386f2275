"""From plain loops, in the styles that people write them, to loops around blocks: `blocks_from_loops.py` leads.

The other files bring what means the same into one form first: matrices, sums, choices, scans, scatters.
"""
