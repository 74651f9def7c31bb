"""What a job may write besides its release, and a grid does not: it publishes nothing."""

from __future__ import annotations

from incrowd.documents import FILES

NOT_WRITTEN = ("key", "save_policy", "report_for", "certificate_for", *FILES)
"""Fields of a release about other files."""
