"""The first and the second run of every method beside bare imports: ``./dev bench start``."""
