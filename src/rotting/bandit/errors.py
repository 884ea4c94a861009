"""What can go wrong with a bandit: one class per kind of error.

Whenever one is raised, nothing has been written, unless it says that this is not known (`may_be_written`): a database
that does not answer, or a connection that breaks, may still have written what it was told to.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Self

from rotting.errors import BadValue, RottingError


class BanditError(RottingError):
    """The root of all errors of a bandit."""

    @classmethod
    def from_error(cls, error: RottingError) -> Self:
        """Return an error of this class with the fields of another."""
        return cls(**vars(error))


class UnboundedRewards(UserWarning):
    """A bandit is made without bounds of its rewards, and nobody said that this is meant."""


class BadName(BanditError, BadValue):
    """The name of a bandit or an arm cannot be one."""


class BadReward(BanditError, BadValue):
    """The reward is not a finite number."""


class RewardOutOfRange(BadReward):
    """The reward lies outside the bandit's `reward_range`."""


class BadSettings(BanditError, BadValue):
    """The settings of a bandit, or an argument of one of its methods, make no sense."""


@contextlib.contextmanager
def as_bad_settings() -> Iterator[None]:
    """Let a value that cannot be used be an error of a bandit."""
    try:
        yield
    except BanditError:
        raise
    except BadValue as error:
        raise BadSettings.from_error(error) from None


class SettingsConflict(BanditError, BadValue):
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


class CompactedDecision(UnknownDecision):
    """The decision no longer waited for a reward when the log was compacted, and nothing else is known of it."""


class RewardConflict(BanditError, ValueError):
    """The decision already has another reward."""


class KeyConflict(BanditError, ValueError):
    """The key belongs to another request."""


class BadAddress(BanditError, BadValue):
    """The address is not one of a database that can hold bandits, or the path not one of a file."""


class StorageError(BanditError, OSError):
    """The database, or a file, cannot be reached, read or written."""

    may_be_written = False


class Contention(StorageError):
    """Another writer was in the way, and nothing was written. The queue tries again: callers never see this."""


class TimedOut(StorageError, TimeoutError):
    """The call waited for other writers or for the database until its deadline."""


class ClosedBandit(BanditError, ValueError):
    """The bandit was closed."""


class CannotCopy(BanditError, TypeError):
    """A bandit can be opened several times, but not copied or pickled."""


class WrongSchema(BanditError):
    """The tables in the database are not, or not yet, those of this version."""


class DamagedLog(BanditError):
    """Something in the tables cannot have been written by this package, or is missing."""


class VerificationFailed(BanditError):
    """The log holds a decision that its policy would not take, or the state is not what follows from the log."""
