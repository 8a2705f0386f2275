"""Programs as files: shared and static libraries, objects, headers."""
