"""The method greedy beside its paper, peers, and loss against time."""
