"""`python -m tirscript`."""

from .cli import main

main()
