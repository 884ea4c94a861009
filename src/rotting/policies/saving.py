"""Agents on disk.

The file is an ordinary `.npz` (a zip of NumPy arrays, each with a CRC; nothing pickled), which `numpy.load` opens:

* `header`: UTF-8 JSON as bytes: `format` (1), `policy` (its repr), `n_arms`, `key` (start of the random stream);
* `state.NAME`, `state.NAME.NAME`, ...: the arrays of the policy's state.

Two fields of a state that are one array (such as `pulls` and `history.pulls`) are stored once.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rotting.policies.base import Policy

FORMAT = 1


def save_agent(path: str | Path, policy: Policy, state: Any, key: np.uint64) -> None:
    """Write an agent, atomically: the file is the old one or the new one, never half of it."""
    path = Path(path)
    n_arms = len(state.pulls)
    _readable(policy, n_arms)
    header = {"format": FORMAT, "policy": repr(policy), "n_arms": n_arms, "key": int(key)}
    arrays = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    seen: set[int] = set()
    for name, array in _leaves(state):
        if id(array) not in seen:
            seen.add(id(array))
            arrays[name] = array
    handle, temporary = tempfile.mkstemp(dir=path.parent or ".", prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_agent(path: str | Path) -> tuple[Policy, Any, np.uint64]:
    """Return the policy, state and random stream of a saved agent."""
    from rotting.parsing import parse_policy

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(bytes(arrays["header"]))
        version, text, n_arms, key = header["format"], header["policy"], header["n_arms"], header["key"]
    except FileNotFoundError:
        raise
    except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a saved agent, or it is damaged ({type(error).__name__}: {error})") from None
    if version != FORMAT:
        raise ValueError(f"{path} has format {version}; this version of rotting reads format {FORMAT}")
    policy = parse_policy(text)
    return policy, _filled(policy.initial_state(n_arms), arrays, path), np.uint64(key)


def _readable(policy: Policy, n_arms: int) -> None:
    """Refuse to write what could not be read back."""
    from rotting.parsing import parse_policy

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


def _filled(template: Any, arrays: dict[str, np.ndarray], path: str | Path) -> Any:
    """Return a state of the template's shape with the stored arrays, sharing what the template shares."""
    chosen: dict[int, np.ndarray] = {}
    for name, blank in _leaves(template):
        if id(blank) in chosen:
            continue
        stored = arrays.get(name)
        if stored is None or stored.dtype != blank.dtype or stored.ndim != blank.ndim:
            raise ValueError(
                f"{path} is damaged or from another version: its array {name!r} is missing or of another kind"
            )
        chosen[id(blank)] = np.ascontiguousarray(stored)
    return _rebuilt(template, chosen)


def _rebuilt(template: Any, chosen: dict[int, np.ndarray]) -> Any:
    return type(template)(
        *(_rebuilt(value, chosen) if isinstance(value, tuple) else chosen[id(value)] for value in template)
    )
