"""C source: lowered functions as C99 with the user's names."""
