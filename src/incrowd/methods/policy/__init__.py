"""A saved policy applied to another batch."""
