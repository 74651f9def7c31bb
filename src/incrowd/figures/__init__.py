"""The blocks that pages are made of, computed from an audit and its material."""
