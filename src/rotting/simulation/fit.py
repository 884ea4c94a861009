"""Whether a policy can play a problem, and is made for it: found out before any time is spent on it."""

from __future__ import annotations

from collections.abc import Iterable

from rotting.errors import BadValue, RottingError
from rotting.policies import Policy
from rotting.policies._contract.suited import mismatches, warn
from rotting.problems import Problem


def check_fit(policy: Policy, problem: Problem, horizon: int | None = None) -> None:
    """Refuse a policy that cannot play a problem, by making its first state.

    Parameters
    ----------
    policy, problem
        What is to be played on what.
    horizon
        Rounds per run (default: the problem's own).

    Examples
    --------
    >>> from rotting import SlidingWindowUCB, problems
    >>> check_fit(SlidingWindowUCB(tau=10**15), problems.ten_arm())
    Traceback (most recent call last):
    rotting.errors.BadValue: policy SlidingWindowUCB(tau=1000000000000000) cannot play ten_arm(): ...
    """
    where = f"policy {policy} cannot play {problem}"
    try:
        policy.informed(problem, problem.horizon if horizon is None else horizon).initial_state(problem.n_arms)
    except RottingError as error:
        raise error.within(where) from None
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise BadValue(str(error) or type(error).__name__, owner=where) from None


def warn_if_unsuited(policies: Iterable[Policy], problems: Iterable[Problem], horizon: int | None = None) -> None:
    """Warn, once for each, of policies that are not made for a problem.

    Parameters
    ----------
    policies, problems
        What is to be played on what: each on each.
    horizon
        Rounds per run (default: each problem's own).
    """
    several = list(policies)
    warn([found for problem in problems for policy in several for found in mismatches(policy, problem, horizon)])
