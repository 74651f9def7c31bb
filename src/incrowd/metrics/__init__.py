"""What a release lost: pure functions of (before, after), listed in ``table.METRICS``."""
