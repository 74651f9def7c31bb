"""The version, alone in its file so that the build can read it."""

from __future__ import annotations

__version__ = "0.1.0"
