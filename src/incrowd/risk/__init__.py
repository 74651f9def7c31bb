"""How likely people are found in a release, and which columns and values make it so."""
