"""Agents on disk.

The file is an ordinary `.npz` (a zip of NumPy arrays, each with a CRC; nothing pickled), which `numpy.load` opens:

* `header`: UTF-8 JSON as bytes: `format` (1), `policy` (its repr), `n_arms`, `key` (start of the random stream);
* `state.NAME`, `state.NAME.NAME`, ...: the arrays of the policy's state, without its working memory.

Two fields of a state that are one array (such as `pulls` and `history.pulls`) are stored once.

Whatever a file holds, loading it ends in an agent that works or in an error: values are checked, not only shapes. The
checksums find accidents, not forgery: anybody can write rewards that never were, with checksums that fit.
"""

from __future__ import annotations

import json
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from rotting._core.defining import leaves
from rotting._core.files import replacing
from rotting.errors import BadValue, DamagedFile, FileError, literal
from rotting.policies._contract.kernel import RANGE
from rotting.policies._contract.policy import Policy, parse_policy
from rotting.policies._contract.states import fresh_state
from rotting.problems.curve_kernels import CurveArrays

FORMAT = 1
MOST_PULLS = 1 << 62  # more than there will ever be
# What NumPy, zipfile and json raise for files that are not as they should be.
_DAMAGE: tuple[type[Exception], ...] = (OSError, KeyError, TypeError, ValueError, EOFError, RuntimeError)
_DAMAGE += (zipfile.BadZipFile, zlib.error, tokenize.TokenError)


def save_agent(path: str | Path, policy: Policy, state: Any, key: np.uint64) -> None:
    """Write an agent, atomically: the file is the old one or the new one, never half of it."""
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise FileError(f"{path} cannot be written: {reason}")
    _readable(policy, len(state.pulls))
    with replacing(path) as temporary, temporary.open("wb") as file:
        write_agent(file, policy, state, key)


def write_agent(file: IO[bytes], policy: Policy, state: Any, key: np.uint64) -> None:
    """Write an agent into an open file."""
    n_arms = len(state.pulls)
    header = {"format": FORMAT, "policy": repr(policy), "n_arms": n_arms, "key": int(key)}
    arrays = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    seen: set[int] = set()
    for name, array in leaves(state):
        if id(array) not in seen and not is_scratch(policy, name):
            seen.add(id(array))
            arrays[name] = array
    np.savez(file, **arrays)  # type: ignore[arg-type]


def same_states(policy: Policy, one: Any, other: Any) -> bool:
    """Say whether two states hold the same bits, as far as both have made room, working memory apart."""
    for (name, mine), (_, theirs) in zip(leaves(one), leaves(other), strict=True):
        if mine is theirs or is_scratch(policy, name):
            continue
        common = tuple(slice(min(sizes)) for sizes in zip(mine.shape, theirs.shape, strict=True))
        if mine[common].tobytes() != theirs[common].tobytes():
            return False
    return True


def is_scratch(policy: Policy, name: str) -> bool:
    """Say whether an array, such as "state.active", is not kept: working memory, or what follows from the policy."""
    return name.split(".")[1] in (*policy.scratch, RANGE)


def load_agent(path: str | Path | IO[bytes]) -> tuple[Policy, Any, np.uint64]:
    """Return the policy, state and random stream of a saved agent."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(bytes(arrays["header"]))
        version, text, n_arms, key = header["format"], header["policy"], header["n_arms"], header["key"]
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise DamagedFile(f"{path} is not a saved agent, or it is damaged ({type(error).__name__})") from None
    if version != FORMAT:
        raise DamagedFile(f"{path} has format {version}; this version of rotting reads format {FORMAT}")
    if type(n_arms) is not int or n_arms < 1 or type(key) is not int or not 0 <= key < 2**64:
        raise DamagedFile(f"{path} is damaged: its header says n_arms={n_arms!r}, key={key!r}")
    try:
        policy = parse_policy(text)
        state = _filled(policy, n_arms, arrays)
    except ValueError as error:
        raise DamagedFile(f"{path} cannot be loaded: {error}") from None
    return policy, state, np.uint64(key)


def _readable(policy: Policy, n_arms: int) -> None:
    """Refuse to write what could not be read back, or as another policy."""
    try:
        again = parse_policy(repr(policy))
        same = again == policy
        fresh_state(again, n_arms)
    except ValueError as error:
        raise BadValue(f"{policy} cannot be saved, since it could not be loaded: {literal(str(error))}") from None
    if not same:
        raise BadValue(
            f"{policy} cannot be saved: its text, read back, is another policy",
            hint="its class was defined again under the same name; save agents of the newest",
        )


def _filled(policy: Policy, n_arms: int, arrays: dict[str, np.ndarray]) -> Any:
    """Return a state with the stored arrays, sharing what states of this policy share.

    Compiled code trusts a state. So arrays must have the shape that they begin with, except along axes that grow with
    the pulls, and hold nothing that leads out of them; working memory begins blank.
    """
    try:
        template = fresh_state(policy, n_arms)
    except MemoryError:
        raise DamagedFile(f"its header says {n_arms} arms, more than memory holds") from None
    grown = dict(leaves(policy.reserve(template, 1 << 20)))
    chosen: dict[int, np.ndarray] = {}
    for name, blank in leaves(template):
        if id(blank) in chosen:
            continue
        stored = blank if is_scratch(policy, name) else arrays.get(name)
        if stored is None or stored.dtype != blank.dtype or stored.ndim != blank.ndim:
            raise DamagedFile(f"its array {name!r} is missing or of another kind")
        for have, least, later in zip(stored.shape, blank.shape, grown[name].shape, strict=True):
            if have < least or (have > least and least == later):
                raise DamagedFile(f"its array {name!r} has shape {stored.shape}, which does not fit {n_arms} arms")
        if stored.dtype.kind == "f" and np.isnan(stored).any():
            raise DamagedFile(f"its array {name!r} holds something that is not a number")
        chosen[id(blank)] = np.ascontiguousarray(stored)
    state = _rebuilt(template, chosen)
    _check_values(policy, state, template)
    return state


def _check_values(policy: Policy, state: Any, template: Any) -> None:
    """Refuse values with which compiled code could not work."""
    if state.pulls.min() < 0 or sum(state.pulls.tolist()) > MOST_PULLS:
        raise DamagedFile(f"its pulls are {state.pulls.min()} to {state.pulls.max()}")
    for (name, mine), (_, fresh) in zip(leaves(state), leaves(template), strict=True):
        field = name.split(".")[1]
        constant = field == "settings" or isinstance(getattr(template, field), CurveArrays)
        if constant and mine.tobytes() != fresh.tobytes():
            raise DamagedFile(f"its {field} are not those of {policy}")
    policy.check_state(state)


def _rebuilt(template: Any, chosen: dict[int, np.ndarray]) -> Any:
    return type(template)(
        *(_rebuilt(value, chosen) if isinstance(value, tuple) else chosen[id(value)] for value in template)
    )
