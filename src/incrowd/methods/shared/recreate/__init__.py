"""Ruin and recreate: tear up a few near groups, rebuild them, keep what is cheaper."""
