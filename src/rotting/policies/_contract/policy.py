"""What every policy is: parameters, traits, a kernel, and an agent that plays them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypedDict, Unpack

from rotting._core.defining import check_name
from rotting._core.parameters import Parameters
from rotting._core.parsing import parse_call
from rotting.errors import BadType, BadValue, NoExplanation, PolicyDefinitionError
from rotting.policies._contract.agent import Agent
from rotting.policies._contract.definition import check_traits, define_kernel, refuse_shadowing
from rotting.policies._contract.kernel import Kernel, register
from rotting.policies._contract.suited import told_scale
from rotting.problems.curves import Curve

if TYPE_CHECKING:
    from rotting.policies._contract.explaining import Explanation
    from rotting.problems import Problem

_LEAST_SPAN = 1e-100  # of a range of rewards: what is mapped from it stays finite
# A NamedTuple of arrays whose fields only its policy knows.
StateTuple = Any


class Traits(TypedDict, total=False):
    """What a class line may say of a policy besides its kernel; `Policy` tells what each means."""

    randomised: bool
    filters: bool
    knows: tuple[str, ...]
    rewards: tuple[float, float] | tuple[str, str]
    maps_rewards: bool
    noise: str
    made_for: str
    keeps_history: bool
    shared_memory: bool
    sees: tuple[str, ...]
    scratch: tuple[str, ...]
    constants: tuple[str, ...]


# Traits whose attributes have other names.
_ATTRIBUTES = {"rewards": "takes_rewards", "noise": "noise_parameter"}
# Traits of a part of the kernel: a class that brings that part does not inherit them.
_TRAITS_OF = {"state": ("scratch", "constants", "sees"), "select": ("randomised", "filters")}


@dataclasses.dataclass(frozen=True)
class Policy(Parameters):
    """A rule for choosing arms, given by its parameters.

    A subclass names the parts of its kernel and its traits in its class line, and builds its first state:

        @dataclass(frozen=True)
        class Mine(Policy, state=MineState, select=select, update=update, randomised=True):
            alpha: float = parameter(0.1, above=0, doc="what alpha means")

            def initial_state(self, n_arms): ...

    `rotting.policies._contract.kernel` says what `state`, `select`, `update` and `recommend` must be. A class derived
    from another policy inherits the parts that it does not give.

    Parameters
    ----------
    state, select, update, recommend
        The kernel.
    probabilities
        Of a randomised policy with a closed form: the part of the kernel that tells the probability of each arm.
    randomised
        Whether `select` uses its random word: what it chooses then depends on the seed.
    filters
        Whether it filters the arms and then pulls the least-pulled one of those left (see `Agent.select_among`).
    knows
        What a simulation tells it: "horizon", which fills in its parameter of this name where that is None; or
        "problem", for which it overrides `informed`.
    rewards
        The range of the rewards that it is made for: two numbers, or the names of its parameters that give it.
    maps_rewards
        Whether `update` gets rewards mapped from that range to [0, 1]. Those outside the range are not cut by this.
    noise
        The name of its parameter for the scale of the noise. A simulation fills it in where it is None.
    made_for
        The only kind of problem that its rule fits: one of `rotting.policies._contract.suited.KINDS`. None: any.
    keeps_history
        Whether its state grows with the pulls. It overrides `reserve`.
    shared_memory
        Whether what it remembers is not kept per arm (a window of rounds, say), so that among some of the arms it does
        not choose as if the others had never existed. Its arrays have a place per arm all the same.
    sees
        Fields of the state that a player writes in each round, if the problem shows them: "eligible" (int64, 1 for arms
        that may be pulled), "rest" (float64, how long each arm was not shown to whoever is next; infinity: never).
    scratch
        Fields of the state that hold no more than working memory: any content is as good as the first.
    constants
        Fields of the state that never change, besides `settings`; those of a tuple inside as "windows.sizes". A GPU
        keeps them once for many runs.
    abstract
        Whether it is no policy itself, and only others are derived from it.
    """

    # Every policy by its name: how texts, saved agents and command lines find it.
    known: ClassVar[dict[str, type[Policy]]] = {}
    State: ClassVar[type]
    randomised: ClassVar[bool] = False
    filters: ClassVar[bool] = False
    knows: ClassVar[tuple[str, ...]] = ()
    takes_rewards: ClassVar[tuple[float, float] | tuple[str, str] | None] = None
    maps_rewards: ClassVar[bool] = False
    noise_parameter: ClassVar[str | None] = None
    made_for: ClassVar[str | None] = None
    keeps_history: ClassVar[bool] = False
    shared_memory: ClassVar[bool] = False
    sees: ClassVar[tuple[str, ...]] = ()
    scratch: ClassVar[tuple[str, ...]] = ()
    constants: ClassVar[tuple[str, ...]] = ()
    _kernel: ClassVar[Kernel | None] = None

    def __init_subclass__(
        cls,
        *,
        state: type | None = None,
        select: Callable[..., int] | None = None,
        update: Callable[..., None] | None = None,
        recommend: Callable[..., int] | None = None,
        probabilities: Callable[..., None] | None = None,
        abstract: bool = False,
        **traits: Unpack[Traits],
    ) -> None:
        super().__init_subclass__()
        given = {
            "state": state,
            "select": select,
            "update": update,
            "recommend": recommend,
            "probabilities": probabilities,
        }
        for part, of_part in _TRAITS_OF.items():
            for name in of_part if given[part] is not None else ():
                setattr(cls, name, getattr(Policy, name))
        for name, value in traits.items():
            if name not in Traits.__annotations__:
                raise TypeError(f"{cls.__name__} got an unexpected keyword argument {name!r} in its class line")
            setattr(cls, _ATTRIBUTES.get(name, name), value)
        if abstract:
            return
        check_name(PolicyDefinitionError, "policy", cls, Policy.known)
        refuse_shadowing(cls, Policy)
        # A dataclass with slots is made twice, the second time without its class line but with all it led to.
        if "_kernel" not in vars(cls) or any(given.values()) or "sees" in traits:
            own, kernel = define_kernel(cls, getattr(cls, "State", None), cls._kernel, given, cls.maps_rewards)
            cls.State, cls._kernel = own, kernel
            register(own, kernel, cls.sees)
        assert cls._kernel is not None
        check_traits(cls, cls.State, cls._kernel, Policy)
        Policy.known[cls.__name__] = cls

    def initial_state(self, n_arms: int) -> StateTuple:
        """Return the state before the first pull: a NamedTuple of arrays with a field `pulls`."""
        raise NotImplementedError(f"{type(self).__name__} has no method initial_state(n_arms)")

    def reserve(self, state: StateTuple, pulls: int) -> StateTuple:
        """Return a state with room for that many more pulls (the same one where nothing needs to grow)."""
        return state

    def __post_init__(self) -> None:
        super().__post_init__()
        if (limits := self.reward_limits()) is not None and not _LEAST_SPAN <= limits[1] - limits[0] < math.inf:
            low, high = map(str, self.takes_rewards or ())
            problem = f"leaves no range below {high}={limits[1]!r}, or an endless one"
            raise BadValue(problem, owner=type(self).__name__, name=low, value=limits[0], expected=f"{low} < {high}")

    def reward_limits(self) -> tuple[float, float] | None:
        """Return the range of the rewards that it is made for; None if it does not say."""
        if self.takes_rewards is None:
            return None
        low, high = (getattr(self, end) if isinstance(end, str) else end for end in self.takes_rewards)
        return float(low), float(high)

    def informed(self, problem: Problem, horizon: int) -> Policy:
        """Return the policy with whatever it is allowed to know of a simulation filled in: what it `knows`."""
        told: dict[str, float] = {name: horizon for name in self.knows if name == "horizon" and not getattr(self, name)}
        if self.noise_parameter is not None and getattr(self, self.noise_parameter) is None:
            told[self.noise_parameter] = told_scale(self, problem)
        return dataclasses.replace(self, **told) if told else self

    def told(self, name: str) -> Any:
        """Return a parameter that a simulation fills in, or say that it is missing."""
        if (value := getattr(self, name)) is None:
            what = "how many rounds there will be" if name == "horizon" else "the scale of the noise"
            hint = "give a number; a simulation fills it in"
            raise BadValue(f"leaves open {what}", owner=type(self).__name__, name=name, value=None, hint=hint)
        return value

    def check_state(self, state: StateTuple) -> None:
        """Raise `ValueError` if a state, read from a file, would lead compiled code out of its arrays.

        Shapes, types, `pulls`, `settings` and scratch fields are checked for all policies; this is for the rest.
        """

    @property
    def tells_probabilities(self) -> bool:
        """Whether it knows the probability of each choice: it has a closed form, or leaves nothing to chance."""
        return self._kernel is not None and self._kernel.probabilities is not None

    @property
    def explains(self) -> bool:
        """Whether it can say why it decides as it does."""
        return type(self).explain is not Policy.explain

    def explain(self, state: StateTuple, t: int) -> Explanation:
        """Say why the state leads to the decision it does; only some policies can."""
        raise NoExplanation(
            f"{type(self).__name__} has no explanation to give", hint="explain() is for policies with windows"
        )

    def start(self, n_arms: int, seed: int | None = None) -> Agent:
        """Return a fresh agent for `n_arms` arms; `seed` fixes the choices of a randomised policy.

        >>> from rotting import UCB1
        >>> agent = UCB1().start(n_arms=3)
        >>> agent.select()
        0
        >>> agent.update(0, 1.5)
        >>> agent.select(), agent.t
        (1, 1)
        """
        return Agent.fresh(self, n_arms, seed)


# A policy, or a text that describes one: see `parse_policy`.
PolicyLike: TypeAlias = Policy | str


def parse_policy(text: str) -> Policy:
    """Return the policy that a text such as `repr(policy)` describes.

    >>> parse_policy("FEWA(alpha=0.1)")
    FEWA(alpha=0.1, sigma=1.0, delta0=1.0)
    """
    import rotting.policies  # noqa: F401 (every policy of the package makes itself known)

    policy: Policy = parse_call(text, Policy.known, "policy", Curve.known)
    return policy


def as_policy(given: object) -> Policy:
    """Return the policy that was given, or that a text describes."""
    if isinstance(given, str):
        return parse_policy(given)
    if isinstance(given, Policy):
        return given
    hint = f"did you mean {given.__name__}()?" if isinstance(given, type) and issubclass(given, Policy) else None
    raise BadType("is not a policy", name="policy", value=given, expected='such as FEWA(), or "FEWA()"', hint=hint)
