"""The search of the cluster method over sets."""
