"""Running programs: the interpreter, the native backend and what both need at run time."""
