"""Snapshots: the state of a bandit after an event, as bytes. They save replaying the log, and hold nothing else.

The bytes are an .npz file without pickles: `head` (JSON), `agent` (the agent's own file), and the decisions that wait
for a reward, a column per field: `seqs`, `arms`, `since`, `was_shown`, `decisions`, `held_out`.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import struct
import tokenize
import zlib
from zipfile import BadZipFile

import numpy as np

from rotting._core.noise import NoiseEstimate
from rotting._core.validation import LARGEST_WHOLE
from rotting.bandit.events import Pending
from rotting.errors import DamagedFile
from rotting.policies import Agent

SNAPSHOT_FORMAT = 3
# Of version 0.1: it lacks what came later, which was empty then.
FORMAT_2 = 2

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
    """What `rotting.bandit.state.BanditState` holds, as plain data; lists have an element per arm."""

    seq: int
    at: float
    names: list[str]
    live: list[bool]
    decided: list[int]
    in_flight: list[int]
    received: list[int]
    pending: dict[int, Pending]
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
        head = {"format": SNAPSHOT_FORMAT} | {name: getattr(self, name) for name in _HEAD}
        head["noise"] = None if self.noise is None else self.noise.to_dict()
        waiting = self.pending.values()
        file = io.BytesIO()
        np.savez(
            file,
            head=np.frombuffer(json.dumps(head).encode(), np.uint8),
            agent=np.frombuffer(self.agent.to_bytes(), np.uint8),
            seqs=np.array(list(self.pending), np.int64),
            arms=np.array([each.arm for each in waiting], np.int64),
            since=np.array([each.since for each in waiting], np.float64),
            was_shown=np.array([each.shown for each in waiting], np.bool_),
            decisions=np.array([each.decision for each in waiting], np.str_),
            held_out=np.array([-1 if each.holdout is None else each.holdout for each in waiting], np.int8),
        )
        return file.getvalue()

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
            head |= {"format": SNAPSHOT_FORMAT, "period": -1, "sealed": 0, "holdout": None, "settings": None}
            arrays["held_out"] = np.full(len(arrays["seqs"]), -1, np.int8)
        if head["format"] != SNAPSHOT_FORMAT:
            raise DamagedFile(
                "is not the format of this version", name="format", value=head["format"], expected=f"{SNAPSHOT_FORMAT}"
            )
        columns = [arrays[name].tolist() for name in ("seqs", "arms", "since", "was_shown", "decisions", "held_out")]
        snapshot = cls(
            **{name: head[name] for name in _HEAD},
            pending={
                seq: Pending(arm, since, shown, decision, None if held_out < 0 else held_out)
                for seq, arm, since, shown, decision, held_out in zip(*columns, strict=True)
            },
            noise=None if head["noise"] is None else NoiseEstimate.from_dict(head["noise"]),
            agent=Agent.from_bytes(arrays["agent"].tobytes()),
        )
        snapshot._check(len(columns[0]))
        return snapshot

    def _check(self, rows: int) -> None:
        """Refuse values that no state has; `rows` is the number of waiting decisions in the file."""
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
            "pending": len(self.pending) == rows and self._pending_is_good(),
            "agent": self.agent.n_arms == max(1, arms) and self.agent.pulls.tolist() == (self.received or [0]),
        }.items():
            if not good:
                raise DamagedFile("makes no sense", owner="snapshot", name=name, value=getattr(self, name))

    def _pending_is_good(self) -> bool:
        latest = 0.0
        for seq, waiting in self.pending.items():
            arm, since, shown, decision, holdout = waiting
            if not (
                (type(seq), type(arm), type(since), type(shown), type(decision)) == (int, int, float, bool, str)
                and 0 < seq <= self.seq
                and 0 <= arm < len(self.names)
                and latest <= since <= self.at  # the longest wait comes first
                and holdout in (None, 0, 1)
            ):
                return False
            latest = since
        return True


def _are_all(values: object, kind: type, number: int) -> bool:
    return isinstance(values, list) and len(values) == number and all(type(value) is kind for value in values)


def _are_counts(values: list[int], arms: int) -> bool:
    return _are_all(values, int, arms) and all(value >= 0 for value in values)
