"""Information losses, pure functions of (before, after)."""
