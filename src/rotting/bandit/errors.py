"""What can go wrong with a bandit: one name per kind of trouble. Whenever one is raised, nothing has been written."""

from __future__ import annotations


class BanditError(Exception):
    """Any trouble with a bandit."""


class BadName(BanditError, ValueError):
    """The name of a bandit or an arm cannot be one."""


class BadReward(BanditError, ValueError):
    """The reward is not a finite number."""


class BadSettings(BanditError, ValueError):
    """The settings of a bandit, or an argument of one of its methods, make no sense."""


class SettingsConflict(BanditError, ValueError):
    """The bandit exists with other settings."""


class UnknownBandit(BanditError, LookupError):
    """There is no bandit of this name, and not enough is known to make one."""


class UnknownArm(BanditError, LookupError):
    """The bandit has no arm of this name."""


class RetiredArm(BanditError, ValueError):
    """The arm is retired."""


class NoArms(BanditError, ValueError):
    """There is nothing to choose from."""


class UnknownDecision(BanditError, LookupError):
    """The bandit never took this decision."""


class RewardConflict(BanditError, ValueError):
    """The decision already has another reward."""


class BadAddress(BanditError, ValueError):
    """The address is not one of a database that can hold bandits."""


class StorageError(BanditError, OSError):
    """The database cannot be reached, read or written."""


class ClosedBandit(BanditError, ValueError):
    """The bandit was closed."""


class WrongSchema(BanditError):
    """The tables in the database are not, or not yet, those of this version."""


class DamagedLog(BanditError):
    """Something in the tables cannot have been written by us, or is missing."""


class VerificationFailed(BanditError):
    """The log holds a decision that its policy would not take, or the state is not what follows from the log."""
