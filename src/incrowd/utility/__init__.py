"""What a release is still good for: counts, statistics and learning."""
