"""Re-identification risk."""
