"""`python -m dormie`: the same as the `dormie` command."""

from dormie.cli import main

main()
