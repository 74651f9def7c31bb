"""Sets of items: lists, sparse matrices and graphs, their files and names."""
