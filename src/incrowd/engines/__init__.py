"""Where rows live and how they meet: a few coarse verbs, one file per engine."""
