"""The folder of a sweep on disk: its plan, its blocks, and a lock.

plan.json                 what is computed
blocks/FROM-TO.npz        the results of runs FROM to TO - 1, in the numbering of `Plan.number`
imports/*.py              the user's own modules, as they were
earlier/N/                plan.json and blocks of an earlier plan, while they are taken over by a larger one
lock                      held by the process that computes; the operating system releases it when that ends
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rotting._core.files import replacing
from rotting._output.files import write_text
from rotting.errors import DamagedFile, RottingError
from rotting.sweeps.blocks import Content, decode
from rotting.sweeps.errors import MissingModule, SweepError
from rotting.sweeps.plan import Plan

_NAME = re.compile(r"(\d{9,})-(\d{9,})\.npz")
_OURS = {"plan.json", "blocks", "imports", "earlier", "lock"}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Folder:
    """The folder of a sweep, and the plan whose blocks it holds."""

    def __init__(self, path: Path, plan: Plan):
        self.path, self.plan = path, plan

    @classmethod
    def at(cls, path: str | Path) -> Folder:
        """Return the folder at a path, with the plan that is found there; for reading."""
        path = Path(path)
        try:
            text = (path / "plan.json").read_text(encoding="utf-8")
        except OSError as error:
            reason = f"plan.json: {error.strerror or error}"
            raise SweepError(f"does not hold a sweep: {reason}", name="folder", value=str(path)) from None
        try:
            return cls(path, Plan.from_text(text))
        except MissingModule as error:
            hint = f"{{imports}} {path / 'imports' / module_file(error.module)}"
            raise SweepError(error.problem, owner=str(path), hint=f"as it was: {hint}") from None
        except RottingError as error:
            raise SweepError(f"{str(path / 'plan.json')!r} cannot be read: {error}") from None

    @classmethod
    @contextlib.contextmanager
    def held(cls, path: str | Path, plan: Plan) -> Iterator[Folder]:
        """Make the folder if need be, and lock it: no other process computes in it meanwhile.

        A folder with other files is refused. `begin` writes the plan.
        """
        path = Path(path)
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
            others = sorted(found for found in os.listdir(path) if found not in _OURS and not found.endswith(".tmp"))
        if others:
            raise SweepError(
                f"holds other files, such as {others[0]!r}",
                name="out",
                value=str(path),
                expected="a new folder or that of a sweep",
            )
        with _lock(path):
            yield cls(path, plan)

    def other_plan(self) -> str | None:
        """Return the text of another plan that is found here, if there is one."""
        file = self.path / "plan.json"
        with explained(self.path):
            found = file.read_text(encoding="utf-8") if file.exists() else self.plan.text
        return None if found == self.plan.text else found

    def begin(self) -> None:
        """Write the plan, and delete what a killed process has left."""
        with explained(self.path):
            (self.path / "blocks").mkdir(exist_ok=True)
            for leftover in (*self.path.glob(".*.tmp"), *self.path.glob("blocks/.*.tmp")):
                leftover.unlink()
            self._write_imports()
            write_text(self.path / "plan.json", self.plan.text)

    def _write_imports(self) -> None:
        """Keep the user's modules: to be read by people, and imported again by those who trust them."""
        for source in self.plan.imports:
            target = self.path / "imports" / module_file(source.name, source.is_package)
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                temporary.write_bytes(source.text.encode())

    # Results of other plans.

    def earlier(self) -> list[Folder]:
        """Return the folders of earlier plans, whose results are being taken over."""
        return [Folder.at(file.parent) for file in self.path.glob("earlier/*/plan.json")]

    def set_aside(self) -> None:
        """Keep the blocks of another plan where this one, which holds all of it and more, finds them."""
        with explained(self.path):
            place = self.path / "earlier" / str(1 + len(list(self.path.glob("earlier/*"))))
            place.mkdir(parents=True)
            # In this order: wherever it is killed, every block lies beside the plan that it belongs to.
            write_text(place / "plan.json", self.other_plan() or "")
            if (self.path / "blocks").exists():
                (self.path / "blocks").rename(place / "blocks")

    def forget_earlier(self) -> None:
        """Delete the blocks of earlier plans."""
        with explained(self.path):
            if (self.path / "earlier").exists():
                shutil.rmtree(self.path / "earlier")

    def clear(self) -> None:
        """Delete all blocks."""
        self.forget_earlier()
        with explained(self.path):
            for block in self.blocks():
                self.file(block).unlink()

    # Blocks.

    def file(self, block: range) -> Path:
        """Return where a block is kept."""
        return self.path / "blocks" / f"{block.start:09d}-{block.stop:09d}.npz"

    def blocks(self) -> list[range]:
        """Return the blocks that are there; whether they are sound is seen when they are read."""
        found = (_NAME.fullmatch(file.name) for file in self.path.glob("blocks/*"))
        return sorted((range(int(match[1]), int(match[2])) for match in found if match), key=lambda block: block.start)

    def read(self, block: range) -> Content:
        """Return a block's results, checked; `DamagedFile` if they are not what was written."""
        try:
            encoded = self.file(block).read_bytes()
        except OSError as error:
            raise DamagedFile(error.strerror or str(error)) from None
        return decode(self.plan, block, encoded)

    def write(self, block: range, encoded: bytes) -> None:
        """Keep a block: as a whole, or not at all."""
        with explained(self.path), replacing(self.file(block)) as temporary:
            temporary.write_bytes(encoded)


def kept_modules(plan: Plan, out: Path) -> list[Path]:
    """Return the files in a plan's folder to be imported, for its classes of the user's own."""
    own = {kind.__module__ for kind in plan.own_classes}
    wanted = [source for source in plan.imports if source.name in own]
    return [out / "imports" / module_file(each.name, each.is_package) for each in wanted]


def module_file(name: str, is_package: bool = False) -> Path:
    """Return where in `imports` a module is kept.

    >>> str(module_file("my_package.policies"))
    'my_package/policies.py'
    """
    path = Path(*name.split("."))
    return path / "__init__.py" if is_package else path.with_suffix(".py")


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say of an error of the disk what its owner can do."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise SweepError(
                f"the disk of {str(path)!r} is full ({error.strerror})",
                hint="nothing that was finished is lost: free some space and give the same command again",
            ) from error
        raise SweepError(f"cannot be used: {error.strerror or error}", name="out", value=str(path)) from error


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the folder's lock, or say which process does."""
    try:
        import fcntl
    except ImportError:
        raise SweepError("sweeps need file locks of a POSIX system, which this one is not") from None
    with contextlib.ExitStack() as stack:
        with explained(path):
            file = stack.enter_context((path / "lock").open("a+"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise SweepError(
                f"is held by {holder}", name="out", value=str(path), hint="wait for it, or stop it"
            ) from None
        with explained(path):
            since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()} since {since}\n")
            file.flush()
        yield


def difference(found: str, plan: Plan) -> str:
    """Say in what another plan's text differs from a plan."""
    try:
        theirs, ours = json.loads(found), json.loads(plan.text)
        names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    except (ValueError, TypeError, AttributeError):
        return "plan.json cannot be read"
    return f"other {', '.join(names)}"
