"""Snapshots: the state of a bandit after an event, as bytes. They save replaying the log, and hold nothing else.

The bytes are an .npz file without pickles: `head` (JSON), `agent` (the agent's own file), and `pending` (the decisions
that wait for a reward, as `PendingDecisions` has them, compressed).
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import struct
import tokenize
import zlib
from collections.abc import Mapping
from zipfile import BadZipFile

import numpy as np

from rotting._core.noise import NoiseEstimate
from rotting._core.validation import LARGEST_WHOLE
from rotting.bandit.core.pending import Pending, PendingDecisions
from rotting.errors import DamagedFile
from rotting.policies import Agent

SNAPSHOT_FORMAT = 4
# Before, there was a column for each field of the decisions that wait. Format 2, of version 0.1, lacks what came later,
# which was empty then.
FORMAT_3, FORMAT_2 = 3, 2

# What zipfile, NumPy, json and the checks below raise for bytes that are not a snapshot. Not every Exception: a signal
# handler may raise one of its own meanwhile.
NOT_A_SNAPSHOT = (
    ArithmeticError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
)
_HEAD_2 = ("seq", "at", "names", "live", "decided", "in_flight", "received")
_HEAD = (*_HEAD_2, "imported", "in_period", "period", "sealed", "holdout", "settings")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What `rotting.bandit.core.state.BanditState` holds, as plain data; lists have an element per arm."""

    seq: int
    at: float
    names: list[str]
    live: list[bool]
    decided: list[int]
    in_flight: list[int]
    received: list[int]
    pending: PendingDecisions
    noise: NoiseEstimate | None
    agent: Agent
    imported: list[int]
    in_period: list[int]
    period: int
    sealed: int
    holdout: list[object] | None  # `HoldoutTally.to_list`
    settings: dict[str, object] | None  # `BanditSettings.to_dict`; None: those it was made with

    def to_bytes(self) -> bytes:
        """Return the snapshot as an .npz file."""
        return packed(self.parts())

    def parts(self) -> dict[str, bytes]:
        """Return what the file consists of, at once; `packed`, which takes longer, no longer needs the state."""
        head = {"format": SNAPSHOT_FORMAT} | {name: getattr(self, name) for name in _HEAD}
        head["noise"] = None if self.noise is None else self.noise.to_dict()
        return {
            "head": json.dumps(head).encode(),
            "agent": self.agent.to_bytes(),
            "pending": self.pending.to_bytes(),
        }

    @classmethod
    def from_bytes(cls, content: bytes) -> Snapshot:
        """Return the snapshot that `to_bytes` wrote; raise one of `NOT_A_SNAPSHOT` for anything else.

        A checksum does not protect against a content that was made up, so every value is checked.
        """
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(arrays["head"].tobytes())
        if head["format"] == FORMAT_2:
            head |= dict.fromkeys(("imported", "in_period"), [0] * len(head["names"]))
            head |= {"format": FORMAT_3, "period": -1, "sealed": 0, "holdout": None, "settings": None}
            arrays["held_out"] = np.full(len(arrays["seqs"]), -1, np.int8)
        if head["format"] == FORMAT_3:
            pending = _from_columns(arrays)
        elif head["format"] == SNAPSHOT_FORMAT:
            pending = PendingDecisions.from_bytes(zlib.decompress(arrays["pending"].tobytes()))
        else:
            raise DamagedFile(
                "is not the format of this version", name="format", value=head["format"], expected=f"{SNAPSHOT_FORMAT}"
            )
        snapshot = cls(
            **{name: head[name] for name in _HEAD},
            pending=pending,
            noise=None if head["noise"] is None else NoiseEstimate.from_dict(head["noise"]),
            agent=Agent.from_bytes(arrays["agent"].tobytes()),
        )
        snapshot._check()
        return snapshot

    def _check(self) -> None:
        """Refuse values that no state has."""
        arms = len(self.names)
        for name, good in {
            "seq": type(self.seq) is int and 0 <= self.seq <= LARGEST_WHOLE,
            "at": type(self.at) is float and math.isfinite(self.at),
            "names": _are_all(self.names, str, arms) and len(set(self.names)) == arms,
            "live": _are_all(self.live, bool, arms),
            "decided": _are_counts(self.decided, arms),
            "in_flight": _are_counts(self.in_flight, arms),
            "received": _are_counts(self.received, arms),
            "imported": _are_counts(self.imported, arms),
            "in_period": _are_counts(self.in_period, arms),
            "period": type(self.period) is int,
            "sealed": type(self.sealed) is int and 0 <= self.sealed <= self.seq,
            "holdout": self.holdout is None or isinstance(self.holdout, list),
            "settings": self.settings is None or isinstance(self.settings, dict),
            "pending": self._pending_is_good(),
            "agent": self.agent.n_arms == max(1, arms) and self.agent.pulls.tolist() == (self.received or [0]),
        }.items():
            if not good:
                raise DamagedFile("makes no sense", owner="snapshot", name=name, value=getattr(self, name))

    def _pending_is_good(self) -> bool:
        latest = 0.0
        for seq, waiting in self.pending.items():
            in_order = latest <= waiting.since <= self.at  # the longest wait comes first
            if not (0 < seq <= self.seq and 0 <= waiting.arm < len(self.names) and in_order):
                return False
            latest = waiting.since
        return True


def packed(parts: Mapping[str, bytes]) -> bytes:
    """Return the parts of a snapshot as an .npz file. Compressing them does not keep other threads waiting."""
    file = io.BytesIO()
    parts = {**parts, "pending": zlib.compress(parts["pending"], level=1)}
    np.savez(file, **{name: np.frombuffer(part, np.uint8) for name, part in parts.items()})  # type: ignore[arg-type]
    return file.getvalue()


def _from_columns(arrays: Mapping[str, np.ndarray]) -> PendingDecisions:
    """Return the decisions that wait of formats 2 and 3."""
    pending = PendingDecisions()
    names = ("seqs", "arms", "since", "was_shown", "decisions", "held_out")
    columns = [arrays[name].tolist() for name in names]
    for seq, arm, since, shown, decision, held_out in zip(*columns, strict=True):
        kinds = type(since), type(shown), type(decision)
        if kinds != (float, bool, str) or held_out not in (-1, 0, 1) or seq in pending:
            raise DamagedFile("makes no sense", owner="snapshot", name="pending", value=(seq, *kinds, held_out))
        pending.put(seq, Pending(arm, since, shown, decision, None if held_out < 0 else held_out))
    return pending


def _are_all(values: object, kind: type, number: int) -> bool:
    return isinstance(values, list) and len(values) == number and all(type(value) is kind for value in values)


def _are_counts(values: list[int], arms: int) -> bool:
    return _are_all(values, int, arms) and all(value >= 0 for value in values)
