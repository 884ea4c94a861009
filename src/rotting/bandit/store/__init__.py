"""Where logs are kept: the contract of a store, SQLite, PostgreSQL. Nothing else knows which.

Whoever writes another store finds here all that the contract speaks of.
"""

from rotting.bandit.core.events import Event, Facts, Question
from rotting.bandit.errors import Contention
from rotting.bandit.store.addresses import presence
from rotting.bandit.store.contract import NO_LIMIT, BanditRow, Batch, Condition, Key, Seal, Snapshot, Store
from rotting.bandit.store.deadlines import Deadline, kept_by

__all__ = [
    "NO_LIMIT",
    "BanditRow",
    "Batch",
    "Condition",
    "Contention",
    "Deadline",
    "Event",
    "Facts",
    "Key",
    "Question",
    "Seal",
    "Snapshot",
    "Store",
    "kept_by",
    "presence",
]
