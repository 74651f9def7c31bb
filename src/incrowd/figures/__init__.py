"""What a report shows, computed before anything is drawn, as plain data."""
