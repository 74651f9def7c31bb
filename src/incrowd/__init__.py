"""incrowd releases data about people so that nobody's row stands alone."""

from incrowd.version import __version__

__all__ = ["__version__"]
