"""Our own clustering of sets: greedy groups, then local search on the exact objective."""
