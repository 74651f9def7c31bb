"""The cluster method of tables and sets."""
