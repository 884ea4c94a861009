"""What can go wrong in a sweep that its user can put right."""

from __future__ import annotations

from rotting.errors import MissingExtra, ParseError, RottingError


class SweepError(RottingError):
    """A wrong plan, a folder in use, a full disk, a worker of another version: the message says what to do."""


class PlanError(SweepError, ValueError):
    """A plan's file has a mistake.

    Besides the fields of every error, `file` and `line` say where.
    """

    file: str = ""
    line: int = 0

    @classmethod
    def at(cls, file: str, line: int, error: RottingError) -> PlanError:
        """Return an error that was found in a line of a plan's file."""
        found = cls()
        vars(found).update(vars(error.within(f"{file}, line {line}")), file=file, line=line)
        return found


class MissingModule(SweepError, ParseError):
    """A plan needs a module of its user as it was; `module` is its name."""

    def __init__(self, module: str, problem: str):
        super().__init__(problem, owner="plan", hint="name its file, as it was, with {imports}")
        self.module = module


class MissingDask(SweepError, MissingExtra):
    """What was asked for needs Dask, which is not installed."""

    def __init__(self, what: str = "this"):
        super().__init__(f"{what} needs Dask", hint='pip install "rotting[dask]"')
