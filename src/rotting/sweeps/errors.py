"""What can go wrong in a sweep that its user can put right."""

from __future__ import annotations

from rotting.errors import ParseError, RottingError

NEEDS_DASK = 'pip install "rotting[dask]"'


class SweepError(RottingError):
    """A wrong plan, a folder in use, a full disk, a worker of another version: the message says what to do."""


class MissingModule(SweepError, ParseError):
    """A plan needs a module of its user as it was; `module` is its name."""

    def __init__(self, module: str, problem: str):
        super().__init__(problem, owner="plan", hint="name its file, as it was, with {imports}")
        self.module = module
