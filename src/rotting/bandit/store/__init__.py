"""Where logs are kept: the contract of a store, and the databases that fulfil it."""
