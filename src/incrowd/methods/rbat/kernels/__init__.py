"""Loops of RBAT over transactions, rules and parts."""
