"""The job: everything that a user states, as frozen data and as TOML."""
