"""The engine of one machine, rows on disk."""
