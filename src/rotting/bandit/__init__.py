"""Durable bandits over an append-only event log: named arms, late rewards, and decisions that can be replayed."""

from rotting._core.noise import sigma_for
from rotting.bandit.asynchronous import AsyncBandit
from rotting.bandit.bandit import Bandit
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
    UnknownArm,
    UnknownBandit,
    UnknownDecision,
    VerificationFailed,
    WrongSchema,
)
from rotting.bandit.holdout import HoldoutReport
from rotting.bandit.metrics import Measurement
from rotting.bandit.reporting import ArmReport, Report
from rotting.bandit.requests import Choice, Decide, Outcome, Request, Reward, Shown
from rotting.bandit.segments import Segments, SegmentsReport
from rotting.bandit.verifying import Verification

__all__ = [
    "ArmReport",
    "AsyncBandit",
    "BadAddress",
    "BadName",
    "BadReward",
    "BadSettings",
    "Bandit",
    "BanditError",
    "CannotCopy",
    "Choice",
    "ClosedBandit",
    "CompactedDecision",
    "DamagedLog",
    "Decide",
    "HoldoutReport",
    "KeyConflict",
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
    "StorageError",
    "TimedOut",
    "UnknownArm",
    "UnknownBandit",
    "UnknownDecision",
    "Verification",
    "VerificationFailed",
    "WrongSchema",
    "sigma_for",
]
