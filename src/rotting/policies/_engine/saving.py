"""Agents on disk.

The file is an ordinary `.npz` (a zip of NumPy arrays, each with a CRC; nothing pickled), which `numpy.load` opens:

* `header`: UTF-8 JSON as bytes: `format` (1), `policy` (its repr), `n_arms`, `key` (start of the random stream);
* `state.NAME`, `state.NAME.NAME`, ...: the arrays of the policy's state.

Two fields of a state that are one array (such as `pulls` and `history.pulls`) are stored once.
"""

from __future__ import annotations

import json
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from rotting._core.files import replacing
from rotting.policies._engine.history import History, check_history
from rotting.policies._engine.policy import Policy, parse_policy

FORMAT = 1
# What NumPy, zipfile and json raise for files that are not as they should be.
_DAMAGE: tuple[type[Exception], ...] = (OSError, KeyError, TypeError, ValueError, EOFError, RuntimeError)
_DAMAGE += (zipfile.BadZipFile, zlib.error, tokenize.TokenError)


def save_agent(path: str | Path, policy: Policy, state: Any, key: np.uint64) -> None:
    """Write an agent, atomically: the file is the old one or the new one, never half of it."""
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise FileNotFoundError(f"{path} cannot be written: {reason}")
    _readable(policy, len(state.pulls))
    with replacing(path) as temporary, temporary.open("wb") as file:
        write_agent(file, policy, state, key)


def write_agent(file: IO[bytes], policy: Policy, state: Any, key: np.uint64) -> None:
    """Write an agent into an open file."""
    n_arms = len(state.pulls)
    header = {"format": FORMAT, "policy": repr(policy), "n_arms": n_arms, "key": int(key)}
    arrays = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    seen: set[int] = set()
    for name, array in _leaves(state):
        if id(array) not in seen:
            seen.add(id(array))
            arrays[name] = array
    np.savez(file, **arrays)  # type: ignore[arg-type]


def same_states(one: Any, other: Any) -> bool:
    """Say whether two states hold the same bits, as far as both have made room."""
    for (_, mine), (_, theirs) in zip(_leaves(one), _leaves(other), strict=True):
        common = tuple(slice(min(sizes)) for sizes in zip(mine.shape, theirs.shape, strict=True))
        if mine[common].tobytes() != theirs[common].tobytes():
            return False
    return True


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
        raise ValueError(f"{path} is not a saved agent, or it is damaged ({type(error).__name__})") from None
    if version != FORMAT:
        raise ValueError(f"{path} has format {version}; this version of rotting reads format {FORMAT}")
    if type(n_arms) is not int or n_arms < 1 or type(key) is not int or not 0 <= key < 2**64:
        raise ValueError(f"{path} is damaged: its header says n_arms={n_arms!r}, key={key!r}")
    try:
        policy = parse_policy(text)
        state = _filled(policy, n_arms, arrays)
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None
    return policy, state, np.uint64(key)


def _readable(policy: Policy, n_arms: int) -> None:
    """Refuse to write what could not be read back."""
    try:
        parse_policy(repr(policy)).initial_state(n_arms)
    except ValueError as error:
        raise ValueError(f"{policy} cannot be saved, since it could not be loaded: {error}") from None


def _leaves(state: Any, prefix: str = "state") -> Iterator[tuple[str, np.ndarray]]:
    """Walk through the arrays of a state, nested ones included."""
    for name, value in zip(state._fields, state, strict=True):
        if isinstance(value, tuple):
            yield from _leaves(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", value


def _filled(policy: Policy, n_arms: int, arrays: dict[str, np.ndarray]) -> Any:
    """Return a state with the stored arrays, sharing what states of this policy share.

    Compiled code trusts a state, so the arrays must fit: they have the shape that they begin with, except along axes
    that grow with the pulls.
    """
    template = policy.initial_state(n_arms)
    grown = dict(_leaves(policy.reserve(template, 1 << 20)))
    chosen: dict[int, np.ndarray] = {}
    for name, blank in _leaves(template):
        if id(blank) in chosen:
            continue
        stored = arrays.get(name)
        if stored is None or stored.dtype != blank.dtype or stored.ndim != blank.ndim:
            raise ValueError(f"its array {name!r} is missing or of another kind")
        for have, least, later in zip(stored.shape, blank.shape, grown[name].shape, strict=True):
            if have < least or (have > least and least == later):
                raise ValueError(f"its array {name!r} has shape {stored.shape}, which does not fit {n_arms} arms")
        chosen[id(blank)] = np.ascontiguousarray(stored)
    state = _rebuilt(template, chosen)
    for value in (state, *state):
        if isinstance(getattr(value, "history", None), History):
            check_history(value.history)
    return state


def _rebuilt(template: Any, chosen: dict[int, np.ndarray]) -> Any:
    return type(template)(
        *(_rebuilt(value, chosen) if isinstance(value, tuple) else chosen[id(value)] for value in template)
    )
