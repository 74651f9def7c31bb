"""Methods: the searches that keep a guarantee, one folder each."""
