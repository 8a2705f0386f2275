"""The rules of `tirscript.ir.verify`, by what they look at."""
