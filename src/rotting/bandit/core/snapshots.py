"""Snapshots: the state of a bandit after an event, as bytes. They save replaying the log, and hold nothing else.

The bytes are an .npz file without pickles: `head` (JSON), `agent` (the agent's own file), and `pending` (the decisions
that wait for a reward, as `PendingDecisions` has them, compressed).
"""

from __future__ import annotations

import dataclasses
import io
import json
import struct
import tokenize
import zlib
from collections.abc import Mapping
from dataclasses import field
from typing import Any, get_args, get_origin, get_type_hints
from zipfile import BadZipFile

import numpy as np

from rotting._core.validation import LARGEST_WHOLE
from rotting.bandit.core.pending import PendingDecisions
from rotting.errors import DamagedFile
from rotting.policies import Agent

SNAPSHOT_FORMAT = 4  # one of version 0.1 is not read: the log has everything

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


@dataclasses.dataclass(eq=False)
class Plain:
    """What a state holds as plain data."""

    seq: int = 0
    at: float = 0.0
    names: list[str] = field(default_factory=list)  # of the arms
    live: list[bool] = field(default_factory=list)  # per arm: not retired?
    decided: list[int] = field(default_factory=list)  # per arm: decisions, ...
    in_flight: list[int] = field(default_factory=list)  # ... exposures that wait for their reward, ...
    received: list[int] = field(default_factory=list)  # ... rewards, ...
    imported: list[int] = field(default_factory=list)  # ... those of them that came from elsewhere, ...
    in_period: list[int] = field(default_factory=list)  # ... and decisions in the current `exposure_period`, ...
    period: int = -1  # ... which has this number
    sealed: int = 0  # the last event that was compacted


PLAIN = get_type_hints(Plain)
# What else there is: plain data of what is not, or None for what there is not.
RECORDS = {"holdout": list, "settings": dict, "noise": dict}


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What `rotting.bandit.core.state.BanditState` holds: `head` has what `PLAIN` and `RECORDS` list."""

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
            head, agent, pending = (file[name].tobytes() for name in ("head", "agent", "pending"))
        found = json.loads(head)
        if found["format"] != SNAPSHOT_FORMAT:
            raise DamagedFile(
                "is not the format of this version", name="format", value=found["format"], expected=f"{SNAPSHOT_FORMAT}"
            )
        waiting = PendingDecisions.from_bytes(zlib.decompress(pending))
        snapshot = cls({name: found[name] for name in (*PLAIN, *RECORDS)}, waiting, Agent.from_bytes(agent))
        snapshot._check()
        return snapshot

    def _check(self) -> None:
        """Refuse values that no state has."""
        head, agent, arms = self.head, self.agent, len(self.head["names"])
        good = {name: _is_good(head[name], kind, arms) for name, kind in PLAIN.items() if name != "period"}
        good |= {name: isinstance(head[name], kind | None) for name, kind in RECORDS.items()}
        good["names"] &= len(set(head["names"])) == arms
        good["period"] = type(head["period"]) is int
        good["sealed"] &= head["sealed"] <= self.seq
        good["pending"] = self._pending_is_good()
        good["agent"] = agent.n_arms == max(1, arms) and agent.pulls.tolist() == (head["received"] or [0])
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


def _is_good(value: Any, kind: Any, arms: int) -> bool:
    """Say whether a value is of a kind that `Plain` has, with so many arms; numbers are not negative."""
    if get_origin(kind) is list:
        (each,) = get_args(kind)
        return isinstance(value, list) and len(value) == arms and all(_is_good(one, each, arms) for one in value)
    return type(value) is kind and (kind not in (int, float) or 0 <= value <= LARGEST_WHOLE)
