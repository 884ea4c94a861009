"""What can go wrong in a sweep that its user can put right."""


class SweepError(Exception):
    """A wrong plan, a folder in use, a full disk, a worker of another version: the message says what to do."""
