"""The folder of a sweep on disk: its plan, its blocks, and a lock.

plan.json                 what is computed
blocks/FROM-TO.npz        the results of runs FROM to TO - 1, in the numbering of `rotting.sweeps.numbering`
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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from rotting._core.files import replacing
from rotting._output.files import write_text
from rotting.errors import DamagedFile, RottingError
from rotting.sweeps.blocks import Content, decode
from rotting.sweeps.errors import MissingModule, SweepError
from rotting.sweeps.plan import Plan, refuse_other_than_more

_NAME = re.compile(r"(\d{9,})-(\d{9,})\.npz")
_OURS = {"plan.json", "blocks", "imports", "earlier", "lock"}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


# Called with folders of earlier plans, to refuse what they hold.
Check = Callable[[list["Folder"]], object]


class Folder:
    """The folder of a sweep, and the plan that it holds."""

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
            raise SweepError(f"holds no sweep: {reason}", name="folder", value=str(path)) from None
        try:
            return cls(path, Plan.from_text(text))
        except MissingModule as error:
            hint = f"{{imports}} {path / 'imports' / module_file(error.module)}"
            raise SweepError(error.problem, owner=str(path), hint=f"as it was: {hint}") from None
        except RottingError as error:
            raise SweepError(f"{str(path / 'plan.json')!r} cannot be read: {error}") from None

    @classmethod
    @contextlib.contextmanager
    def held(
        cls, path: str | Path, plan: Plan, overwrite: bool = False, extend: Check | None = None
    ) -> Iterator[Folder]:
        """Make the folder if need be, and lock it: no other process computes in it meanwhile.

        Refused: a folder with other files, and with the results of another plan, unless they may be overwritten, or
        the plan is that one and more, and extends it.

        Parameters
        ----------
        path, plan
            Where, and what is to be computed there.
        overwrite
            Whether the results of another plan may be deleted.
        extend
            Called with the folders of earlier plans before they are extended, to refuse what they hold; None: they
            may not be.
        """
        path = Path(path)
        with _explained(path):
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
            folder = cls(path, plan)
            folder._prepare(overwrite, extend)
            yield folder

    def _prepare(self, overwrite: bool, extend: Check | None) -> None:
        """Write the plan, and delete or set aside what a killed process or another plan has left."""
        file = self.path / "plan.json"
        with _explained(self.path):
            found = file.read_text(encoding="utf-8") if file.exists() else None
            if found not in (None, self.plan.text):
                if extend is not None:
                    self._set_aside(found or "", extend)
                elif overwrite:
                    shutil.rmtree(self.path / "earlier", ignore_errors=True)
                    for block in self.blocks():
                        self.file(block).unlink()
                else:
                    raise SweepError(
                        f"holds the results of another plan ({_difference(found or '', self.plan)})",
                        name="out",
                        value=str(self.path),
                        hint="if the plan is that one and more, {extend} keeps them; or choose another folder, or "
                        "delete those results with {overwrite}",
                    )
            (self.path / "blocks").mkdir(exist_ok=True)
            for leftover in (*self.path.glob(".*.tmp"), *(self.path / "blocks").glob(".*.tmp")):
                leftover.unlink()
            if found != self.plan.text:
                self._write_imports()
                write_text(file, self.plan.text)

    # Earlier plans.

    def _set_aside(self, found: str, check: Check) -> None:
        """Keep the blocks of an earlier plan where this one, which holds all of it and more, finds them."""
        old = Folder.at(self.path)
        if (reason := refuse_other_than_more(old.plan, self.plan)) is not None:
            raise SweepError(
                f"cannot be extended: the plan {reason}",
                name="out",
                value=str(self.path),
                hint="choose another folder, or delete those results with {overwrite}",
            )
        check([*self.earlier(), old])
        number = 1 + max((int(name) for name in self._earlier_names()), default=0)
        place = self.path / "earlier" / str(number)
        place.mkdir(parents=True)
        # In this order: wherever it is killed, every block lies beside the plan that it belongs to.
        write_text(place / "plan.json", found)
        if (self.path / "blocks").exists():
            (self.path / "blocks").rename(place / "blocks")

    def _earlier_names(self) -> list[str]:
        try:
            return sorted((name for name in os.listdir(self.path / "earlier") if name.isdecimal()), key=int)
        except FileNotFoundError:
            return []

    def earlier(self) -> list[Folder]:
        """Return the folders of earlier plans, whose results are being taken over."""
        places = [self.path / "earlier" / name for name in self._earlier_names()]
        return [Folder.at(place) for place in places if (place / "plan.json").exists()]

    def forget_earlier(self) -> None:
        """Delete the blocks of earlier plans: all of them have been taken over."""
        with _explained(self.path):
            if (self.path / "earlier").exists():
                shutil.rmtree(self.path / "earlier")

    def _write_imports(self) -> None:
        """Keep the user's modules: to be read by people, and imported again by those who trust them."""
        for source in self.plan.imports:
            target = self.path / "imports" / module_file(source.name, source.is_package)
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                temporary.write_bytes(source.text.encode())

    # Blocks.

    def file(self, block: range) -> Path:
        """Return where a block is kept."""
        return self.path / "blocks" / f"{block.start:09d}-{block.stop:09d}.npz"

    def blocks(self) -> list[range]:
        """Return the blocks that are there, in order; whether they are sound is seen when they are read."""
        try:
            names = sorted(os.listdir(self.path / "blocks"))
        except FileNotFoundError:
            return []
        found = filter(None, map(_NAME.fullmatch, names))
        return sorted((range(int(match[1]), int(match[2])) for match in found), key=lambda block: block.start)

    def read(self, block: range) -> Content:
        """Return a block's results, checked; `DamagedFile` if they are not what was written."""
        try:
            encoded = self.file(block).read_bytes()
        except OSError as error:
            raise DamagedFile(error.strerror or str(error)) from None
        return decode(self.plan, block, encoded)

    def write(self, block: range, encoded: bytes) -> None:
        """Keep a block: as a whole, or not at all."""
        with _explained(self.path), replacing(self.file(block)) as temporary:
            temporary.write_bytes(encoded)


def kept_modules(plan: Plan, out: Path) -> list[Path]:
    """Return the files in a plan's folder to be imported, for its classes of the user's own."""
    wanted = [source for source in plan.imports if source.name in plan.own_modules]
    return [out / "imports" / module_file(each.name, each.is_package) for each in wanted]


def module_file(name: str, is_package: bool = False) -> Path:
    """Return where in `imports` a module is kept.

    >>> str(module_file("my_package.policies"))
    'my_package/policies.py'
    """
    path = Path(*name.split("."))
    return path / "__init__.py" if is_package else path.with_suffix(".py")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
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
    with _explained(path):
        descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 1000).decode(errors="replace").strip() or "another process"
            raise SweepError(
                f"is held by {holder}", name="out", value=str(path), hint="wait for it, or stop it"
            ) from None
        with _explained(path):
            since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()} since {since}\n".encode())
        yield
    finally:
        os.close(descriptor)


def _difference(found: str, plan: Plan) -> str:
    """Say in what the plan of a folder differs."""
    try:
        theirs, ours = json.loads(found), json.loads(plan.text)
        names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    except (ValueError, AttributeError):
        return "plan.json cannot be read"
    return f"other {', '.join(names)}"
