"""Tables whose rows lie on an engine: only counts and distinct rows come to this process."""
