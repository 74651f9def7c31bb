"""Tables: schema, reading, writing, frames, what names say."""
