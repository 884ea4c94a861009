"""Durable bandits over an append-only event log: named arms, late rewards, and decisions that can be replayed."""

from rotting._core.noise import sigma_for
from rotting.bandit.bandit import Bandit
from rotting.bandit.errors import (
    BadAddress,
    BadName,
    BadReward,
    BadSettings,
    BanditError,
    ClosedBandit,
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
from rotting.bandit.reporting import ArmReport, Report
from rotting.bandit.requests import Choice, Decide, Outcome, Request, Reward, Shown
from rotting.bandit.verifying import Verification

__all__ = [
    "ArmReport",
    "BadAddress",
    "BadName",
    "BadReward",
    "BadSettings",
    "Bandit",
    "BanditError",
    "Choice",
    "ClosedBandit",
    "DamagedLog",
    "Decide",
    "HoldoutReport",
    "KeyConflict",
    "NoArms",
    "Outcome",
    "Report",
    "Request",
    "RetiredArm",
    "Reward",
    "RewardConflict",
    "RewardOutOfRange",
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
