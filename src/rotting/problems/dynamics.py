"""What every dynamics is: parameters, a memory of the past, and functions that say what an arm is worth now."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from rotting._core import defining
from rotting._core.parameters import Parameters
from rotting.errors import ProblemDefinitionError
from rotting.problems import kernel
from rotting.problems.curve import Curve


@dataclasses.dataclass(frozen=True)
class Dynamics(Parameters):
    """A rule that says what an arm is worth, given what was pulled before.

    A subclass names its functions in its class line:

        @dataclass(frozen=True)
        class Mine(Dynamics, memory=MineMemory, value=value, pulled=pulled):
            rate: float = parameter(0.1, minimum=0, doc="what it means")

            def initial_memory(self, n_arms): ...

    `rotting.problems.kernel` says what the functions must be. In them `problem.dynamics.numbers` holds the parameters
    in their order, unless the class says otherwise. A class derived from another dynamics inherits what it does not
    give.

    Parameters
    ----------
    value
        `value(problem, memory, arm, t)`: what a pull of the arm is worth in round t.
    pulled
        `pulled(problem, memory, arm, t)`: take a pull down in the memory (default: only `memory.pulls` is counted).
    begin
        `begin(problem, memory, key)`: draw what a run has of its own (default: nothing, all runs are alike).
    rested
        Whether a pull changes its own arm's value only, and the passing of rounds changes none.
    memory
        The NamedTuple that the loop keeps of a run's past, with a field `pulls` (default: that field alone).
    arrays
        The NamedTuple of the parameters in compiled code (default: their numbers). Overrides the method `arrays`.
    abstract
        Whether it is no dynamics itself, and only others are derived from it.
    """

    # Every dynamics by its name: how texts find it.
    known: ClassVar[dict[str, type[Dynamics]]] = {}
    Arrays: ClassVar[type] = kernel.Numbers
    Memory: ClassVar[type] = kernel.Pulls
    rested: ClassVar[bool] = False
    # Whether runs differ by more than noise: `begin` draws what their arms are worth.
    draws: ClassVar[bool] = False
    # Whether it is about arms that wear out: curves that increase are refused, unless asked for.
    rots: ClassVar[bool] = True
    _kernel: ClassVar[kernel.DynamicsKernel | None] = None

    def __init_subclass__(
        cls,
        *,
        value: Callable[..., Any] | None = None,
        pulled: Callable[..., Any] | None = None,
        begin: Callable[..., Any] | None = None,
        memory: type | None = None,
        arrays: type | None = None,
        rested: bool | None = None,
        abstract: bool = False,
    ) -> None:
        super().__init_subclass__()
        if rested is not None or value is not None:
            cls.rested = bool(rested)
        given = {"value": value, "pulled": pulled, "begin": begin}
        for name, kind in (("memory", memory), ("arrays", arrays)):
            if kind is not None and not defining.is_tuple_class(kind):
                raise ProblemDefinitionError(
                    "is not a class of NamedTuples", owner=cls.__name__, name=name, value=kind, expected="a NamedTuple"
                )
        if memory is not None:
            cls.Memory = memory
            if "pulls" not in memory._fields:  # type: ignore[attr-defined]
                expected = "a NamedTuple with a field pulls"
                raise ProblemDefinitionError("has no pulls", owner=cls.__name__, name="memory", expected=expected)
        if any(given.values()) or arrays is not None:
            cls._define(given, arrays)
        if abstract:
            return
        if cls._kernel is None:
            raise ProblemDefinitionError(
                "value missing in the class line",
                owner=cls.__name__,
                expected=f"class {cls.__name__}(Dynamics, value=...)",
                hint="abstract=True is for classes that only others are derived from",
            )
        defining.refuse_methods(ProblemDefinitionError, "Dynamics", cls, ("value", "pulled", "begin"))
        defining.check_name(ProblemDefinitionError, "curve, dynamics or noise", cls, defining.IN_PROBLEMS)
        Dynamics.known[cls.__name__] = defining.IN_PROBLEMS[cls.__name__] = cls

    @classmethod
    def _define(cls, given: dict[str, Any], arrays: type | None) -> None:
        """Give the class functions of its own, and the tuple class by which compiled code finds them."""
        before = cls._kernel or kernel.DynamicsKernel(None, kernel.nothing_pulled, kernel.nothing_to_begin)  # type: ignore
        places = (kernel.VALUE_ARGUMENTS, kernel.PULLED_ARGUMENTS, kernel.BEGIN_ARGUMENTS)
        functions = [
            defining.plain_function(ProblemDefinitionError, cls.__name__, name, function, arguments) or inherited
            for (name, function), arguments, inherited in zip(given.items(), places, before, strict=True)
        ]
        if functions[0] is None:
            return
        cls._kernel = kernel.DynamicsKernel(*functions)
        cls.Arrays = defining.own_tuple_class(cls, arrays or cls.Arrays, "Arrays")
        cls.draws = cls._kernel.begin is not kernel.nothing_to_begin
        kernel.register_dynamics(cls.Arrays, cls._kernel)

    def arrays(self, n_arms: int) -> Any:
        """Return the parameters as compiled code reads them: by default the numbers of all fields."""
        return kernel.Numbers(np.array([float(getattr(self, field.name)) for field in dataclasses.fields(self)]))

    def initial_memory(self, n_arms: int) -> Any:
        """Return the memory before the first round."""
        return kernel.Pulls(np.zeros(n_arms, np.int64))

    def check(self, curves: Sequence[Curve]) -> None:
        """Raise `BadValue` if these curves cannot have these dynamics."""

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return bounds of each arm's means; by default those of its curve."""
        return [curve.highest_and_lowest()[::-1] for curve in curves]

    def situation(self, curves: Sequence[Curve], memory: Any, t: int) -> Hashable:
        """Return all that matters of the memory for what arms are worth from round t on; None if that is endless.

        Two moments with the same situation have the same future. Where there are few, cycles can be compared exactly.
        """
        return None

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return which kind of oracle (`rotting.problems.oracle`) regret is measured against, and how good it is."""
        if self.rested and not self.draws:
            return "best allocation", "optimal"
        if type(self).situation is Dynamics.situation:
            return "look-ahead", "a reference"
        return "best cycle", "optimal in the long run"
