"""`python -m fsgc`, the same as `fsgc`."""

from fsgc.cli import main

main()
