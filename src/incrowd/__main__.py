"""``python -m incrowd`` is the command line."""

from __future__ import annotations

from incrowd.cli import main

main()
