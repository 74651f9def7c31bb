"""Pages: drawn from figures that were computed before; nothing is computed here."""
