"""What several methods share, so that no method imports a sibling."""
