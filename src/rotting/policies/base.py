"""What every policy is: parameters, a state, and an agent that plays them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from rotting.parameters import Parameters
from rotting.policies.agent import Agent
from rotting.policies.kernel import register


@dataclasses.dataclass(frozen=True)
class Policy(Parameters):
    """A rule for choosing arms, given by its parameters.

    A subclass names its compiled parts in its class line and builds its first state:

        @dataclass(frozen=True)
        class Mine(Policy, state=MineState, select=select, update=update):
            alpha: float = parameter(0.1, above=0, doc="what alpha means")

            def initial_state(self, n_arms): ...

    `rotting.policies.kernel` says what `state`, `select` and `update` must be.
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
