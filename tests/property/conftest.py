"""How many random programs are tried: 100 as a rule, TIRSCRIPT_CASES (5000) with HYPOTHESIS_PROFILE=fuzz."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# programs are slow to make beside the numbers that hypothesis has in mind
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example)

settings.register_profile(
    "ordinary", max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW
)
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("TIRSCRIPT_CASES", "5000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=SLOW,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ordinary"))
