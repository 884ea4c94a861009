"""Pure parts of a bandit: what happened, what follows from it, what to write next. No I/O, clock, lock or thread."""
