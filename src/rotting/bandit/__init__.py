"""Durable bandits over an append-only event log: named arms, late rewards, and decisions that can be replayed."""

from rotting._core.noise import sigma_for
from rotting.bandit.asynchronous import AsyncBandit
from rotting.bandit.bandit import Bandit
from rotting.bandit.bandits import Bandits
from rotting.bandit.core.checking import good_name
from rotting.bandit.core.events import Event
from rotting.bandit.core.holdout import HoldoutReport
from rotting.bandit.core.requests import Choice, Decide, Outcome, Request, Reward, Shown
from rotting.bandit.errors import (
    BadAddress,
    BadName,
    BadReward,
    BadSettings,
    BanditError,
    CannotCopy,
    ClosedBandit,
    CompactedDecision,
    DamagedLog,
    KeyConflict,
    NoArms,
    RetiredArm,
    RewardConflict,
    RewardOutOfRange,
    SettingsConflict,
    StorageError,
    TimedOut,
    UnboundedRewards,
    UnknownArm,
    UnknownBandit,
    UnknownDecision,
    VerificationFailed,
    WrongSchema,
)
from rotting.bandit.log.event_log import warm_up
from rotting.bandit.log.streaming import LogRow
from rotting.bandit.log.verifying import Verification
from rotting.bandit.metrics import Measurement
from rotting.bandit.report.reporting import ArmReport, Report, Standing
from rotting.bandit.segments import Segments, SegmentsReport
from rotting.bandit.store.addresses import is_shared, open_store
from rotting.bandit.store.contract import Key, Store

__all__ = [
    "ArmReport",
    "AsyncBandit",
    "BadAddress",
    "BadName",
    "BadReward",
    "BadSettings",
    "Bandit",
    "BanditError",
    "Bandits",
    "CannotCopy",
    "Choice",
    "ClosedBandit",
    "CompactedDecision",
    "DamagedLog",
    "Decide",
    "Event",
    "HoldoutReport",
    "Key",
    "KeyConflict",
    "LogRow",
    "Measurement",
    "NoArms",
    "Outcome",
    "Report",
    "Request",
    "RetiredArm",
    "Reward",
    "RewardConflict",
    "RewardOutOfRange",
    "Segments",
    "SegmentsReport",
    "SettingsConflict",
    "Shown",
    "Standing",
    "StorageError",
    "Store",
    "TimedOut",
    "UnboundedRewards",
    "UnknownArm",
    "UnknownBandit",
    "UnknownDecision",
    "Verification",
    "VerificationFailed",
    "WrongSchema",
    "good_name",
    "is_shared",
    "open_store",
    "sigma_for",
    "warm_up",
]
