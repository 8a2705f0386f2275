"""`python -m tirscript.cli`."""

from . import main

main()
