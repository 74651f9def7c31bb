"""Rule protection of transactions beside its paper."""
