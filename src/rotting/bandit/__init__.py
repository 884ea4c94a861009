"""Durable bandits over an append-only event log: named arms, late rewards, and decisions that can be replayed."""

from rotting._core.noise import sigma_for
from rotting.bandit.bandit import Bandit, Choice
from rotting.bandit.errors import (
    BadAddress,
    BadName,
    BadReward,
    BadSettings,
    BanditError,
    ClosedBandit,
    DamagedLog,
    NoArms,
    RetiredArm,
    RewardConflict,
    RewardOutOfRange,
    SettingsConflict,
    StorageError,
    UnknownArm,
    UnknownBandit,
    UnknownDecision,
    VerificationFailed,
    WrongSchema,
)
from rotting.bandit.reporting import ArmReport, Report
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
    "NoArms",
    "Report",
    "RetiredArm",
    "RewardConflict",
    "RewardOutOfRange",
    "SettingsConflict",
    "StorageError",
    "UnknownArm",
    "UnknownBandit",
    "UnknownDecision",
    "Verification",
    "VerificationFailed",
    "WrongSchema",
    "sigma_for",
]
