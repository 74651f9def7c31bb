"""Where rows live and how they meet: in memory, on disk, on Spark."""
