"""From evidence to what to do, and what it is worth."""
