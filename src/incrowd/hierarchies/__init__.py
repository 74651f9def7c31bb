"""Generalization hierarchies: trees, builders, files, the doctor, prices."""
