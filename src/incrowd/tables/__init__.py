"""Tables: schema, reading, writing, frames, role proposals."""
