"""One way to check: load a release with what its owner has, audit it, verify its certificate."""
