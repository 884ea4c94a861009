"""The production door: named arms, late rewards, and a log that never loses one."""

try:
    import sqlalchemy  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "a Bandit keeps its log with SQLAlchemy; install it: pip install 'rotting[sql]'"
    ) from error

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
