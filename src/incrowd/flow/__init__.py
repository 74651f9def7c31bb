"""The flow: read, encode, search, decode, write, re-read, audit, publish."""
