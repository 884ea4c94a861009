"""What every policy is: parameters, a state, and an agent that plays them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from rotting._core.parameters import Parameters
from rotting._core.parsing import parse_call
from rotting.policies._engine.agent import Agent
from rotting.policies._engine.kernel import register
from rotting.problems.curves import Curve


@dataclasses.dataclass(frozen=True)
class Policy(Parameters):
    """A rule for choosing arms, given by its parameters.

    A subclass names its compiled parts in its class line and builds its first state:

        @dataclass(frozen=True)
        class Mine(Policy, state=MineState, select=select, update=update):
            alpha: float = parameter(0.1, above=0, doc="what alpha means")

            def initial_state(self, n_arms): ...

    `rotting.policies._engine.kernel` says what `state`, `select` and `update` must be.
    """

    # Every subclass by its name: how saved agents and command lines find it.
    known: ClassVar[dict[str, type[Policy]]] = {}

    def __init_subclass__(
        cls,
        state: type | None = None,
        select: Callable[..., int] | None = None,
        update: Callable[..., None] | None = None,
    ) -> None:
        super().__init_subclass__()
        if state is not None and select is not None and update is not None:
            register(state, select, update)
        Policy.known[cls.__name__] = cls

    def initial_state(self, n_arms: int) -> Any:
        """Return the state before the first pull: a NamedTuple of arrays with a field `pulls`."""
        raise NotImplementedError

    def reserve(self, state: Any, pulls: int) -> Any:
        """Return a state with room for that many more pulls (the same one where nothing needs to grow)."""
        return state

    def informed(self, problem: Any, horizon: int) -> Policy:
        """Return the policy with whatever it is allowed to know of a simulation filled in (by default nothing)."""
        return self

    def explain(self, state: Any, t: int) -> Any:
        """Say why the state leads to the decision it does; only some policies can."""
        raise NotImplementedError(f"{type(self).__name__} has no explanation to give: explain() is for window policies")

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


def parse_policy(text: str) -> Policy:
    """Return the policy that a text such as `repr(policy)` describes.

    >>> parse_policy("FEWA(alpha=0.1)")
    FEWA(alpha=0.1, sigma=1.0, delta0=1.0)
    """
    import rotting.policies  # noqa: F401 (every policy of the package makes itself known)

    return parse_call(text, Policy.known, "policy", Curve.known)
