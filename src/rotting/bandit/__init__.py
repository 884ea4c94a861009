"""Durable bandits over an append-only event log: named arms, late rewards, and decisions that can be replayed."""

from rotting._core.noise import sigma_for
from rotting.bandit.asynchronous import AsyncBandit
from rotting.bandit.bandit import Bandit
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
    UnknownArm,
    UnknownBandit,
    UnknownDecision,
    VerificationFailed,
    WrongSchema,
)
from rotting.bandit.log.verifying import Verification
from rotting.bandit.metrics import Measurement
from rotting.bandit.report.reporting import ArmReport, Report
from rotting.bandit.segments import Segments, SegmentsReport

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
