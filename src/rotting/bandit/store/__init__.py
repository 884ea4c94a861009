"""Where logs are kept: the contract of a store (`contract`), SQLite, PostgreSQL, memory. Nothing else knows which."""
