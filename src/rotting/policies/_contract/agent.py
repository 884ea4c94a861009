"""An agent: one policy at work on one set of arms, from Python."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core.errors import NumbaError

from rotting._core.checking import cannot_be_compiled, compile_errors_in_short
from rotting._core.compiling import belongs_to_package
from rotting._core.randomness import CHOICE, checked_seed, stream_key
from rotting._core.validation import LARGEST_WHOLE, whole_number
from rotting.errors import BadType, BadValue, KernelError, NoSuchArm
from rotting.policies._contract.kernel import advise, decide, learn, learn_many
from rotting.policies._contract.probable import REPLAYS, probabilities_of, replay_key
from rotting.policies._contract.states import fresh_state
from rotting.policies._contract.views import view_of
from rotting.problems.kernel import ELIGIBLE, REST

if TYPE_CHECKING:
    from rotting.policies._contract.explaining import Explanation
    from rotting.policies._contract.policy import Policy

# Beyond this, sums of many rewards could overflow.
LARGEST_REWARD = 1e100


class Agent:
    """Chooses arms and learns from their rewards; made by `policy.start(n_arms, seed)`.

    `select()` changes nothing: asked twice, it gives the same arm twice. Rewards may come for any arm, chosen or not.
    """

    def __init__(self, policy: Policy, state: Any, key: np.uint64):
        self.policy = policy
        self._state = state
        self._key = key
        self._t = int(state.pulls.sum())
        self._n_arms = len(state.pulls)
        self._room = 0  # pulls that surely fit into the state as it is
        # A user's update may count pulls of other arms, too: then all counts are compared, which takes a microsecond.
        self._compare_counts = not belongs_to_package(type(state))
        self._decide = decide.compiled_for(state)
        self._learn = learn.compiled_for(state)
        self._tell = probabilities_of.compiled_for(state)
        # The last view of some arms, until the next reward: their probabilities are asked for after the choice.
        self._viewed: tuple[tuple[int, ...], Any] | None = None

    @classmethod
    def fresh(cls, policy: Policy, n_arms: int, seed: int | None = None) -> Agent:
        """Return an agent that has not pulled anything yet."""
        n_arms = whole_number("n_arms", n_arms, minimum=1, maximum=LARGEST_WHOLE)
        return cls.keyed(policy, n_arms, stream_key(checked_seed(seed), CHOICE))

    @classmethod
    def keyed(cls, policy: Policy, n_arms: int, key: np.uint64) -> Agent:
        """Return an agent that has not pulled anything yet, whose random stream starts at `key`."""
        return cls(policy, fresh_state(policy, n_arms), key)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self._n_arms

    @property
    def t(self) -> int:
        """The number of pulls made so far."""
        return self._t

    @property
    def pulls(self) -> np.ndarray:
        """The number of pulls of each arm so far, int64 (a copy)."""
        return np.array(self._state.pulls)

    def select(self) -> int:
        """Return the arm to pull next."""
        try:
            arm: int = self._decide(self._state, self._t + 1, self._key)
        except NumbaError as error:
            raise cannot_be_compiled(self.policy, error) from error
        if arm < 0:
            raise self._broken("select gave an arm that does not exist")
        return arm

    def recommend(self) -> int:
        """Return the arm to stay with if there is nothing more to learn: by default the most pulled one.

        >>> from rotting import SuccessiveRejects
        >>> agent = SuccessiveRejects(horizon=100).start(n_arms=3)
        >>> for _ in range(100):
        ...     arm = agent.select()
        ...     agent.update(arm, [0.2, 0.8, 0.5][arm])
        >>> agent.recommend()
        1
        """
        with compile_errors_in_short(self.policy):
            arm: int = advise.compiled_for(self._state)(self._state)
        if arm < 0:
            raise self._broken("recommend gave an arm that does not exist")
        return arm

    def select_at(self, t: int, key: np.uint64) -> int:
        """Return the arm to pull in round t, with the random stream that starts at `key`."""
        return int(self._decide(self._state, t, key))

    def update(self, arm: int, reward: float) -> None:
        """Take in the reward of one pull of `arm`; a bad arm or reward is refused and changes nothing."""
        # The ordinary case first, cheaply: this is called once per decision.
        if type(arm) is not int or not 0 <= arm < self._n_arms:
            arm = self._checked_arm(arm)
        if type(reward) is not float or not abs(reward) <= LARGEST_REWARD:
            reward = checked_reward(reward)
        if self._room == 0:
            self._reserve(256)
        try:
            before = self.pulls if self._compare_counts else None
            counted = self._learn(self._state, arm, reward)
        except NumbaError as error:
            raise cannot_be_compiled(self.policy, error) from error
        if not counted or (before is not None and not self._counted_only(before, [arm])):
            raise self._broken("update did not count one pull of the arm, and only that, in state.pulls")
        self._room -= 1
        self._viewed = None
        self._t += 1

    def update_many(self, arms: Iterable[int], rewards: Iterable[float]) -> None:
        """Take in many rewards, in this order; if one of them is bad, all are refused and nothing changes.

        Examples
        --------
        >>> from rotting import EffFEWA
        >>> agent = EffFEWA().start(n_arms=2)
        >>> agent.update_many([0, 1, 1], [0.2, 0.4, 0.1])
        >>> agent.pulls
        array([1, 2])
        """
        numbers = _checked_many("arms", arms, np.int64, "iu", (0, self._n_arms - 1), self._checked_arm)
        values = _checked_many(
            "rewards", rewards, np.float64, "biuf", (-LARGEST_REWARD, LARGEST_REWARD), checked_reward
        )
        if len(numbers) != len(values):
            raise BadValue(f"{len(numbers)} arms and {len(values)} rewards do not go together", expected="one of each")
        if len(numbers) > self._room:
            self._reserve(len(numbers))
        before = self.pulls
        with compile_errors_in_short(self.policy):
            counted = learn_many.compiled_for(self._state)(self._state, numbers, values)
        if not counted or not self._counted_only(before, numbers):
            raise self._broken("update did not count one pull of the arm, and only that, in state.pulls")
        self._room -= len(numbers)
        self._viewed = None
        self._t += len(numbers)

    def select_among(self, arms: Sequence[int], key: np.uint64) -> tuple[int, list[int] | None]:
        """Return the arm to pull if only `arms` (increasing) existed, and those that the policy is indifferent about.

        The second is for policies that filter the arms and then pull the least-pulled one that is left: all that are
        left. It is None for others, and while one of the arms has no pull. `key` starts the random stream to use.
        """
        if ELIGIBLE in self.policy.sees:
            self.see(eligible=arms)
            return self.select_at(self._t + 1, key), None
        view = view_of(self.policy, self._state, arms)
        with compile_errors_in_short(self.policy):
            place = self._decide(view, self._t + 1, key)
        if place < 0:
            raise self._broken("select gave an arm that does not exist")
        self._viewed = (arms, view) if type(arms) is tuple else None
        if not self.policy.filters or not view.pulls.all():
            return arms[place], None
        return arms[place], [arms[kept] for kept in view.active[: view.left[0]].tolist()]

    def see(self, eligible: Iterable[int] | None = None, rest: Iterable[float] | None = None) -> None:
        """Tell a policy that `sees` such things what the next round is like, until it is told otherwise.

        Parameters
        ----------
        eligible
            The arms that may be pulled.
        rest
            How long each arm was not shown to whoever is next; infinity: never.

        Examples
        --------
        >>> from rotting.policies import RecoveringSoftmax
        >>> agent = RecoveringSoftmax().start(n_arms=3, seed=1)
        >>> agent.see(eligible=[2], rest=[1.0, float("inf"), 5.0])
        >>> agent.select()
        2
        """
        for name, given in ((ELIGIBLE, eligible), (REST, rest)):
            if given is not None and name not in self.policy.sees:
                raise BadValue(f"sees no {name}", owner=str(self.policy), name=name, value=given)
        if eligible is not None:
            arms = [self._checked_arm(arm) for arm in eligible]
            if not arms:
                raise BadValue("is empty", name=ELIGIBLE, value=eligible, expected="at least one arm")
            self._state.eligible[:] = 0
            self._state.eligible[arms] = 1
        if rest is not None:
            rests = np.array([*rest], np.float64)
            if rests.shape != (self._n_arms,) or not (rests >= 0).all():
                raise BadValue(name=REST, value=rest, expected=f"{self._n_arms} numbers >= 0, one for each arm")
            self._state.rest[:] = rests

    def probabilities(self, replays: int = REPLAYS) -> np.ndarray:
        """Return the probability of each arm in the next round: exact, or a share of the draw and of `replays` others.

        They are exact where the policy `tells_probabilities`. A share is never below 1 / (replays + 1) for the arm that
        `select()` gives; asked twice, it is the same.

        Examples
        --------
        >>> from rotting import EpsilonGreedy
        >>> EpsilonGreedy(epsilon=0.2).start(n_arms=4, seed=1).probabilities()
        array([0.85, 0.05, 0.05, 0.05])
        """
        replays = whole_number("replays", replays, minimum=0)
        if not self.policy.randomised:
            return np.array(np.arange(self._n_arms) == self.select(), np.float64)
        return self.probabilities_among(range(self._n_arms), self._key, replays)

    def probabilities_among(self, arms: Sequence[int], key: np.uint64, replays: int = REPLAYS) -> np.ndarray:
        """Return the probability of each of `arms` (increasing) if only they existed; `key` as in `select_among`."""
        t, found = self._t + 1, np.empty(len(arms))
        with compile_errors_in_short(self.policy):
            if self.policy.tells_probabilities:
                viewed = self._viewed
                view = viewed[1] if viewed is not None and viewed[0] is arms else self._view(arms)
                good = self._tell(view, t, key, 0, found)
            else:
                good = self._shares(arms, t, key, replays, found)
        if not good:
            raise self._broken(f"probabilities gave {found.tolist()}, which are not probabilities of the arms")
        return found

    def _shares(self, arms: Sequence[int], t: int, key: np.uint64, replays: int, found: np.ndarray) -> bool:
        """Fill in the shares of the draw and of so many replays."""
        from rotting.policies._contract.saving import same_states

        view, fresh = self._view(arms), self._view(arms)
        good = bool(self._tell(view, t, key, replays, found))
        if replays and not same_states(self.policy, view, fresh):  # `select` has kept a plan: each replay starts afresh
            self._tell(fresh, t, key, 0, found)
            draw = np.empty(len(arms))
            for replay in range(replays):
                self._tell(self._view(arms), t, np.uint64(replay_key(key, replay)), 0, draw)
                found += draw
            found /= replays + 1
        return good

    def _view(self, arms: Sequence[int]) -> Any:
        view = view_of(self.policy, self._state, arms)
        if ELIGIBLE in self.policy.sees and len(arms) < self._n_arms:
            view.eligible[:] = 1
        return view

    def explain_among(self, arms: Sequence[int]) -> Explanation:
        """Explain the next decision if only `arms` existed; verdicts speak of them by their places in `arms`."""
        return self.policy.explain(view_of(self.policy, self._state, arms), self._t + 1)

    def explain(self) -> Explanation:
        """Say, arm by arm, what leads to the next decision (policies with windows only)."""
        return self.policy.explain(self._state, self._t + 1)

    def save(self, path: str | Path) -> None:
        """Write the agent to a file, atomically; `Agent.load` continues it with identical decisions."""
        from rotting.policies._contract.saving import save_agent

        save_agent(path, self.policy, self._state, self._key)

    @classmethod
    def load(cls, path: str | Path) -> Agent:
        """Return the agent that `save` wrote."""
        from rotting.policies._contract.saving import load_agent

        return cls(*load_agent(path))

    def to_bytes(self) -> bytes:
        """Return what `save` would write."""
        from rotting.policies._contract.saving import write_agent

        file = io.BytesIO()
        write_agent(file, self.policy, self._state, self._key)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Agent:
        """Return the agent that `to_bytes` described."""
        from rotting.policies._contract.saving import load_agent

        return cls(*load_agent(io.BytesIO(content)))

    def same_as(self, other: Agent) -> bool:
        """Say whether both have learnt the same, bit for bit: every array, as far as both have made room in it."""
        from rotting.policies._contract.saving import same_states

        return self.policy == other.policy and same_states(self.policy, self._state, other._state)

    def __repr__(self) -> str:
        return f"<Agent {self.policy} n_arms={self.n_arms} t={self.t}>"

    def _reserve(self, pulls: int) -> None:
        """Make room for so many more pulls.

        The package's histories grow by an eighth at a time, and take what room they have first: a loaded agent goes on
        without copying anything. A user's policy may copy its whole state whenever it is asked, so that is done rarely.
        """
        self._room = pulls if belongs_to_package(type(self._state)) else pulls + self._t // 8
        self._state = self.policy.reserve(self._state, self._room)

    def _counted_only(self, before: np.ndarray, arms: Sequence[int] | np.ndarray) -> bool:
        """Say whether the state counts these pulls, and no others, more than `before`."""
        return np.array_equal(before + np.bincount(arms, minlength=self._n_arms), self._state.pulls)

    def _broken(self, problem: str) -> KernelError:
        return KernelError(
            f"{problem}, in round {self._t + 1}",
            owner=str(self.policy),
            hint="rotting.simulate(..., check=True) finds the line",
        )

    def _checked_arm(self, arm: object) -> int:
        if type(arm) is int and 0 <= arm < self._n_arms:
            return arm
        expected = f"a whole number from 0 to {self.n_arms - 1}"
        try:
            number = whole_number("arm", arm)
        except BadValue:
            raise BadType("is not an arm", name="arm", value=arm, expected=expected) from None
        if not 0 <= number < self.n_arms:
            raise NoSuchArm("does not exist", name="arm", value=arm, expected=expected)
        return number


def checked_reward(reward: object) -> float:
    """Return a reward as a float, or say why it is none."""
    if type(reward) is float and abs(reward) <= LARGEST_REWARD:
        return reward
    if isinstance(reward, bool | np.bool_):
        return float(reward)
    if not isinstance(reward, int | float | np.integer | np.floating):
        raise BadType("is not a number", name="reward", value=reward)
    number = reward.item() if isinstance(reward, np.generic) else reward
    if isinstance(number, float) and not math.isfinite(number):
        hint = "drop it or decide what it stands for"
        raise BadValue("is not finite", name="reward", value=number, hint=hint)
    if not abs(number) <= LARGEST_REWARD:
        raise BadValue(f"is beyond +-{LARGEST_REWARD:g}", name="reward", value=number, hint="rescale the rewards")
    return float(number)


def _checked_many(
    name: str,
    values: object,
    dtype: type[np.generic],
    kinds: str,
    limits: tuple[float, float],
    checked: Callable[[object], float],
) -> np.ndarray:
    """Return many values as an array; ordinary ones are checked as an array, and one by one only if some are bad."""
    listed = _listed(name, values)
    is_array = isinstance(listed, np.ndarray)
    if is_array or set(map(type, listed)) <= {int, float}:
        with contextlib.suppress(OverflowError):
            array = np.asarray(listed)
            if array.ndim == 1 and (array.dtype.kind in kinds or len(listed) == 0):
                cast = array.astype(dtype)  # first: float16 and float32 have no LARGEST_REWARD but infinity
                if ((cast >= limits[0]) & (cast <= limits[1])).all():
                    return cast
    return np.array([checked(value) for value in listed], dtype)


def _listed(name: str, values: object) -> np.ndarray | list[Any]:
    """Return many values as an array or a list."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise BadValue("holds masked values", name=name, hint="leave them out, or fill them with what they stand for")
    if isinstance(values, np.ndarray) and values.ndim > 0:
        return values
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | np.ndarray):
        raise BadType("is not a sequence", name=name, value=values, expected="one of them for each pull")
    return list(values)
