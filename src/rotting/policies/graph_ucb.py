"""GraphUCB: optimism about arms that improve with the pulls of all arms that trigger them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.defining import written_first
from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies.red_ucb import FIRST_PULLS
from rotting.problems.trigger_graph import TriggerGraph

if TYPE_CHECKING:
    from rotting.problems import Problem


@written_first("rewards", "ages")
class GraphUCBState(NamedTuple):
    """All rewards with the ages of their arms, and what each arm's window comes to."""

    settings: np.ndarray  # [sigma, share, alpha]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    triggers: np.ndarray  # int64 (K, K): [i, j] is 1 if pulls of j age i
    age: np.ndarray  # int64 (K,): pulls that aged the arm
    rewards: np.ndarray  # float64 (K, room): of each pull ...
    ages: np.ndarray  # int64 (K, room): ... and how old the arm was with it
    window: np.ndarray  # int64 (K,): h
    mean: np.ndarray  # float64 (K,): of the last h rewards
    slope: np.ndarray  # float64 (K,): the mean of their slopes
    moment: np.ndarray  # float64 (K,): the mean of their slopes times their ages
    first: np.ndarray  # int64 (K,): the age with the first of them


def select(state, t, word):
    """Return the arm with the largest index; first, arms are pulled twice in turn, and until they have a window."""
    least = 0
    for arm in range(1, len(state.pulls)):
        if state.pulls[arm] < state.pulls[least]:
            least = arm
    if state.pulls[least] < FIRST_PULLS:
        return least
    width = state.settings[0] * math.sqrt(10.0 * state.settings[2] * math.log(t))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        h = float(state.window[arm])
        if h == 0:
            return arm
        unsure = width * (t - state.first[arm]) / (h * math.sqrt(h))
        index = state.mean[arm] + t * state.slope[arm] - state.moment[arm] + unsure
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Add the reward, age the arms that the pull triggers, and look at the arm's window again, which takes O(h)."""
    number, n = state.numbers[arm], state.pulls[arm]
    for other in range(len(state.pulls)):
        state.age[other] += state.triggers[state.numbers[other], number]
    state.rewards[arm, n], state.ages[arm, n] = reward, state.age[arm]
    state.pulls[arm] = n + 1
    state.window[arm] = np.int64(math.floor(state.settings[1] * (n + 1)))
    if state.window[arm] > 0:
        _look_again(state, arm)


@helper
def _look_again(state, arm):
    """Sum the last h rewards, their slopes over the h before each, and the slopes times ages."""
    n, h = state.pulls[arm], state.window[arm]
    total, slopes, moment = 0.0, 0.0, 0.0
    for place in range(n - h, n):
        age = state.ages[arm, place]
        older = age - state.ages[arm, place - h]
        # An arm that does not trigger itself may be as old as it was: then nothing is known of its slope.
        slope = 0.0 if older == 0 else (state.rewards[arm, place] - state.rewards[arm, place - h]) / older
        total += state.rewards[arm, place]
        slopes += slope
        moment += slope * age
    state.mean[arm], state.slope[arm], state.moment[arm] = total / h, slopes / h, moment / h
    state.first[arm] = state.ages[arm, n - h]


@dataclass(frozen=True)
class AgedArms(Policy, abstract=True):
    """What GraphUCB and R-less-UCB have in common: all but who triggers whom."""

    sigma: float | None = sigma_parameter()
    share: float = parameter(0.25, above=0, maximum=0.5, doc="the window, as a share of the arm's pulls (epsilon)")
    alpha: float = parameter(4.0, above=0, doc="confidence: delta_t = t^-alpha")

    def triggers(self, n_arms: int) -> np.ndarray:
        """Return whose pulls age which arm."""
        raise NotImplementedError

    def initial_state(self, n_arms: int) -> GraphUCBState:
        """Return nothing seen."""
        counts, sums = np.zeros((4, n_arms), np.int64), np.zeros((3, n_arms))
        return GraphUCBState(
            settings=np.array([self.told("sigma"), self.share, self.alpha]),
            pulls=counts[0].copy(),
            numbers=np.arange(n_arms),
            triggers=self.triggers(n_arms),
            age=counts[1].copy(),
            rewards=np.zeros((n_arms, 0)),
            ages=np.zeros((n_arms, 0), np.int64),
            window=counts[2].copy(),
            mean=sums[0].copy(),
            slope=sums[1].copy(),
            moment=sums[2].copy(),
            first=counts[3].copy(),
        )

    def reserve(self, state: GraphUCBState, pulls: int) -> GraphUCBState:
        """Make room for more pulls of any arm."""
        had, needed = state.rewards.shape[1], int(state.pulls.max()) + pulls
        if needed <= had:
            return state
        room = len(state.pulls), max(needed, had + had // 8)
        rewards, ages = np.zeros(room), np.zeros(room, np.int64)  # which cost no memory before they are written
        rewards[:, :had], ages[:, :had] = state.rewards, state.ages
        return state._replace(rewards=rewards, ages=ages)

    def check_state(self, state: GraphUCBState) -> None:
        """Check that what it has seen is that of its pulls."""
        n_arms, most = len(state.pulls), int(state.pulls.max())
        windows = np.floor(self.share * state.pulls).astype(np.int64)
        fits = (
            state.rewards.shape == state.ages.shape == (n_arms, state.ages.shape[1])
            and most <= state.ages.shape[1]
            and np.array_equal(state.window, windows)
            and np.array_equal(state.numbers, np.arange(n_arms))
            and np.array_equal(state.triggers, self.triggers(n_arms))
        )
        if not fits or not all(np.isfinite(part).all() for part in (state.rewards, state.mean, state.slope)):
            raise DamagedFile("its windows are not those of its pulls")


@dataclass(frozen=True)
class GraphUCB(
    AgedArms,
    knows=("problem",),
    state=GraphUCBState,
    select=select,
    update=update,
    keeps_history=True,
    shared_memory=True,
    noise="sigma",
    constants=("triggers",),
    made_for="arms with a trigger graph",
):
    """Pull the arm with the largest optimistic value at round t, from its last h = floor(share N) rewards x_l.

    a_l is how many pulls of arms that trigger it the arm had seen with its pull l. The index is the mean, over the last
    h pulls, of x_l + (t - a_l) (x_l - x_(l-h)) / (a_l - a_(l-h)), plus sigma (t - a_(N-h+1)) sqrt(10 ln(1 / delta_t) /
    h^3), delta_t = t^-alpha: R-ed-UCB with ages in the place of pulls. If no arm triggers another (matrix = None,
    outside of a simulation) it is R-ed-UCB, and if all do it is R-less-UCB. For arms whose means increase with their
    age, and ever more slowly. In a simulation the matrix is filled in. A reward costs O(h).

    Of the paper, only the abstract was at hand: the estimate and the bonus are those of R-ed-UCB, with ages in the
    place of pulls.

    References
    ----------
    Genalti, Mussi, Gatti, Restelli, Castiglioni, Metelli (2024), "Graph-triggered rising bandits".

    Examples
    --------
    >>> agent = GraphUCB(matrix=((1, 1, 0), (1, 1, 0), (0, 0, 1)), sigma=0.01).start(n_arms=3)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     age = agent.pulls[0] + agent.pulls[1]
    ...     agent.update(arm, [0.6 * age / (age + 10.0), age / (age + 10.0), 0.4][arm])
    >>> agent.pulls
    array([ 40, 113,  47])
    """

    matrix: tuple[tuple[int, ...], ...] | None = parameter(
        None, raw=True, optional=True, doc="matrix[i][j]: 1 if pulls of arm j age arm i; none: the problem's"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.matrix is not None:
            object.__setattr__(self, "matrix", TriggerGraph(self.matrix).matrix)

    def informed(self, problem: Problem, horizon: int) -> Policy:
        """Fill in the problem's graph, if it has one."""
        told, dynamics = super().informed(problem, horizon), problem.dynamics_model
        if self.matrix is None and isinstance(dynamics, TriggerGraph):
            return dataclasses.replace(told, matrix=dynamics.matrix)  # type: ignore[call-arg]
        return told

    def triggers(self, n_arms: int) -> np.ndarray:
        """Return whose pulls age which arm."""
        if self.matrix is None:
            return np.eye(n_arms, dtype=np.int64)
        if len(self.matrix) != n_arms:
            problem = f"is for {len(self.matrix)} arms, not {n_arms}"
            raise BadValue(problem, owner="GraphUCB", name="matrix", value=self.matrix, expected="as many")
        return np.array(self.matrix, np.int64)
