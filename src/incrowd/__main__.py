"""``python -m incrowd`` is the command line."""

from incrowd.cli import main

main()
