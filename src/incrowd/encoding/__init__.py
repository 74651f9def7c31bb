"""From tables to nodes of hierarchies and back: rows, codings, bins, bits, per-record k."""
