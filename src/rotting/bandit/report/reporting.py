"""Reports on a bandit: how each arm is doing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rotting._core.isotonic import non_increasing_fit
from rotting.bandit.core.holdout import HoldoutReport, holdout_report
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.state import BanditState
from rotting.policies import FilterVerdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rotting._output.sheets import Sheet

Value = TypeVar("Value")

WINDOWS = (10, 100, 1000)  # the last so many rewards


@dataclasses.dataclass(frozen=True)
class ArmReport:
    """How one arm is doing.

    `shows` are decisions or, for a bandit with count="shown", those that were shown or have a reward; `pending` are
    those of them that wait for one. `imported` are the rewards that came from elsewhere. `means` are those of the last
    10, 100, 1000 rewards (where there are as many) and of all. `wear_start` and `wear_now` are the ends of the
    non-increasing curve that fits the rewards best (isotonic regression on blocks). `active` says whether the policy's
    filter lets the arm pass, and `window` which window removed it if not; both are None for policies without a filter
    and for arms that are not available.
    """

    arm: str
    available: bool
    shows: int
    pending: int
    rewards: int
    imported: int
    means: dict[str, float | None]
    wear_start: float | None
    wear_now: float | None
    active: bool | None
    window: int | None


@dataclasses.dataclass(frozen=True)
class Standing:
    """What the state of a bandit says at once, without reading its rewards.

    `available` says for each arm whether it is, `passes` whether the policy's filter lets it pass (None: there is no
    filter, or the arm is not available). Decisions and rewards include what was in the log before it was compacted, up
    to event `sealed`; `pending` decisions wait for a reward.
    """

    policy: str
    events: int
    sealed: int
    available: Mapping[str, bool]
    passes: Mapping[str, bool | None]
    decided: Mapping[str, int]
    received: Mapping[str, int]
    pending: int
    settings: BanditSettings


def make_standing(state: BanditState) -> Standing:
    """Return what a state says."""

    def by_arm(values: Iterable[Value]) -> dict[str, Value]:
        return dict(zip(state.names, values, strict=True))

    return Standing(
        policy=str(state.policy),
        events=state.seq,
        sealed=state.sealed,
        available=by_arm(state.live),
        passes=by_arm(passes for passes, _ in verdicts(state)),
        decided=by_arm(state.decided),
        received=by_arm(state.received),
        pending=len(state.pending),
        settings=state.settings,
    )


@dataclasses.dataclass(frozen=True)
class Report:
    """How the arms of a bandit are doing. `values` holds the rewards of each arm, in the order they came."""

    bandit: str
    policy: str
    estimated_sigma: float | None  # the sigma in use, where it is estimated
    arms: tuple[ArmReport, ...]
    holdout: HoldoutReport | None  # where there is one
    values: dict[str, np.ndarray] = dataclasses.field(repr=False)

    def to_dict(self) -> dict[str, object]:
        """Return plain data, without the rewards."""
        content = dataclasses.asdict(dataclasses.replace(self, values={}))
        del content["values"]
        return content | {"arms": list(content["arms"])}

    def __str__(self) -> str:
        return self.sheet().written("text")

    def _repr_html_(self) -> str:
        return self.sheet().html()

    def sheet(self) -> Sheet:
        """Return the table of it, to be printed."""
        from rotting.bandit.report.showing import report_sheet

        return report_sheet(self)

    def figure(self) -> Figure:
        """Draw each arm's value against its exposures."""
        from rotting.bandit.report.figures import wear_figure

        return wear_figure(self)


def make_report(state: BanditState, exposures: Mapping[int, int]) -> Report:
    """Return the report on a state, given how often each arm has been shown."""
    arms, values = state.rewards()
    found = verdicts(state)
    split = {each: values[arms == arm] for arm, each in enumerate(state.names)}
    shows = dict(enumerate(state.decided)) if state.settings.count == "decided" else exposures
    rows = []
    for arm, each in enumerate(state.names):
        fit = wear_fit(split[each])
        active, window = found[arm]
        rows.append(
            ArmReport(
                arm=each,
                available=state.live[arm],
                shows=shows.get(arm, 0),
                pending=state.in_flight[arm],
                rewards=state.received[arm],
                imported=state.imported[arm],
                means=_means(split[each]),
                wear_start=float(fit[0]) if len(fit) else None,
                wear_now=float(fit[-1]) if len(fit) else None,
                active=active,
                window=window,
            )
        )
    sigma = getattr(state.policy, "sigma", None) if state.settings.sigma == "auto" else None
    share = state.settings.holdout
    holdout = holdout_report(share, state.settings.control, state.holdout) if share > 0.0 else None
    return Report(state.bandit_name, str(state.policy), sigma, tuple(rows), holdout, split)


def wear_fit(values: np.ndarray) -> np.ndarray:
    """Return the non-increasing curve that is closest to some values in the least-squares sense.

    It has one step per block of about sqrt(n) values: a curve that could follow single values would, at its two ends.
    """
    if len(values) == 0:
        return values
    blocks = np.array_split(values, math.isqrt(len(values)))
    sizes = [len(block) for block in blocks]
    means = [block.mean() for block in blocks]
    return np.repeat(non_increasing_fit(means, sizes), sizes)


def _means(values: np.ndarray) -> dict[str, float | None]:
    means = {str(window): float(values[-window:].mean()) if len(values) >= window else None for window in WINDOWS}
    return means | {"all": float(values.mean()) if len(values) else None}


def verdicts(state: BanditState) -> list[tuple[bool | None, int | None]]:
    """Return for each arm whether the filter lets it pass, and the window that removed it if not; see `ArmReport`."""
    known = state.policy.filters and state.policy.explains
    found: list[tuple[bool | None, int | None]] = [(True if live and known else None, None) for live in state.live]
    arms = [arm for arm in state.available() if known and state.received[arm] > 0]  # the filter lets the others pass
    for verdict in state.agent.explain_among(arms).arms if arms else ():
        if isinstance(verdict, FilterVerdict):
            found[arms[verdict.arm]] = verdict.survived, verdict.window
    return found
