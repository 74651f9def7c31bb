"""What a column of text holds: types, and formats of dates and numbers."""
