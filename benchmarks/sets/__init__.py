"""Methods of sets beside their paper."""
