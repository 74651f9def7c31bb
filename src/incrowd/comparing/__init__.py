"""A grid of releases of one data set, measured, and the front of loss, k and time."""
