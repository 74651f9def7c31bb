"""A generalization that was learnt before, put on other rows."""
