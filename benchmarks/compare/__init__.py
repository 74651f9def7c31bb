"""The front of three methods on Adult."""
