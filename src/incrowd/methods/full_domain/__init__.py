"""Full-domain generalization: one level per column."""
