"""Files of tables: reading, writing, and how they are written."""
