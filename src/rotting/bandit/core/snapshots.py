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
from collections.abc import Callable, Mapping
from typing import Any
from zipfile import BadZipFile

import numpy as np

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


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What `rotting.bandit.core.state.BanditState` holds: `head` has what `_GOOD` lists, as plain data."""

    head: dict[str, Any]
    pending: PendingDecisions
    agent: Agent

    @property
    def seq(self) -> int:
        """The last event that it includes."""
        return int(self.head["seq"])

    def to_bytes(self) -> bytes:
        """Return the snapshot as an .npz file."""
        return packed(self.parts())

    def parts(self) -> dict[str, bytes]:
        """Return what the file consists of, at once; `packed`, which takes longer, no longer needs the state."""
        head = {"format": SNAPSHOT_FORMAT} | self.head
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
        snapshot = cls({name: head[name] for name in _GOOD}, pending, Agent.from_bytes(arrays["agent"].tobytes()))
        snapshot._check()
        return snapshot

    def _check(self) -> None:
        """Refuse values that no state has."""
        names, received, agent = self.head["names"], self.head["received"], self.agent
        good = {name: is_good(self.head[name], len(names)) for name, is_good in _GOOD.items()}
        good["sealed"] = good["sealed"] and self.head["sealed"] <= self.seq
        good["pending"] = self._pending_is_good()
        good["agent"] = agent.n_arms == max(1, len(names)) and agent.pulls.tolist() == (received or [0])
        for name, is_good in good.items():
            if not is_good:
                raise DamagedFile("makes no sense", owner="snapshot", name=name, value=self.head.get(name))

    def _pending_is_good(self) -> bool:
        latest = 0.0
        for seq, waiting in self.pending.items():
            in_order = latest <= waiting.since <= self.head["at"]  # the longest wait comes first
            if not (0 < seq <= self.seq and 0 <= waiting.arm < len(self.head["names"]) and in_order):
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


def _is_whole(value: object, _: int) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_WHOLE


# What a snapshot holds besides the decisions that wait and the agent: is it good, with so many arms?
_GOOD: dict[str, Callable[[Any, int], bool]] = {
    "seq": _is_whole,
    "at": lambda at, _: type(at) is float and math.isfinite(at),
    "names": lambda names, arms: _are_all(names, str, arms) and len(set(names)) == arms,
    "live": lambda live, arms: _are_all(live, bool, arms),
    **dict.fromkeys(("decided", "in_flight", "received", "imported", "in_period"), _are_counts),
    "period": lambda period, _: type(period) is int,
    "sealed": _is_whole,
    "holdout": lambda tally, _: isinstance(tally, list | None),  # `HoldoutTally.to_list`
    "settings": lambda settings, _: isinstance(settings, dict | None),  # None: those it was made with
    "noise": lambda noise, _: isinstance(noise, dict | None),  # `NoiseEstimate.to_dict`
}
