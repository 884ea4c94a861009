"""What a sweep is to do: every policy on every problem, so many runs each."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from rotting._core import imported
from rotting._core.compiling import belongs_to_package, kernel_digest
from rotting._core.randomness import checked_seed
from rotting._core.validation import whole_number
from rotting.errors import BadType, BadValue, ParseError
from rotting.play.players import listed, told_apart
from rotting.policies import Policy, PolicyLike, parse_policy
from rotting.problems import Problem, ProblemLike, named, parse_problem
from rotting.simulation.simulator import recorded_rounds
from rotting.sweeps.errors import MissingModule

# What users may give: a policy, or the text that it is read from.
Item = TypeVar("Item")

FORMAT = "rotting sweep 1"
_HOW_TO_IMPORT = (
    "a sweep can be resumed and sent to other machines: put the class into a file, and name that with {imports}"
)


class Piece(NamedTuple):
    """Some consecutive runs of one cell."""

    problem: int
    policy: int
    runs: range
    numbers: range  # of the runs, in the whole sweep


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """A sweep, written down: what there is to know to play it, anywhere, with the same results.

    `Plan.of` makes one from whatever users may give.

    Parameters
    ----------
    policies
        Policies of the package, no two alike.
    problems
        Problems, no two alike; each is played for its own horizon.
    runs
        Runs of each cell, a cell being one policy on one problem.
    seed
        A whole number >= 0.
    rounds
        The rounds at which regret is recorded, as in `rotting.simulate`: how many, or which ones.
    version, kernels, device
        What plays it: results of another version, of other compiled code or from another kind of device are another
        plan's. So are results of other modules of the user: `imports` of the text has their digests.

    Examples
    --------
    >>> from rotting import FEWA, problems
    >>> plan = Plan((FEWA(),), (problems.two_arm(), problems.ten_arm()), runs=20)
    >>> plan.cells, plan.total_runs, plan.problem_labels
    (2, 40, ['two_arm(L=0.233, horizon=10000)', 'ten_arm()'])
    >>> list(plan.pieces(range(18, 25)))
    [Piece(problem=0, policy=0, runs=range(18, 20), numbers=range(18, 20)),
     Piece(problem=1, policy=0, runs=range(0, 5), numbers=range(20, 25))]
    """

    policies: tuple[Policy, ...]
    problems: tuple[Problem, ...]
    runs: int
    seed: int = 0
    rounds: int | tuple[int, ...] | None = None
    version: str = ""
    kernels: str = ""
    device: str = "cpu"

    def __post_init__(self) -> None:
        from rotting import __version__

        for name, kind in (("policies", Policy), ("problems", Problem)):
            values = tuple(getattr(self, name))
            if not values or not all(isinstance(value, kind) for value in values):
                raise BadType("is not at least one of them", name=name, value=values, expected=f"{name}; see Plan.of")
            self._set(name, values)
            for text, count in Counter(map(repr, values)).items():
                if count > 1:
                    raise BadValue(f"holds {text} {count} times", name=name, expected="each once")
        self._set("runs", whole_number("runs", self.runs, minimum=1))
        self._set("seed", checked_seed(self.seed))
        if isinstance(self.rounds, Iterable) and not isinstance(self.rounds, str):
            self._set("rounds", tuple(np.asarray(tuple(self.rounds)).tolist()))
        for own in self.own_classes:  # workers could not be given one, and nobody would notice its edits
            if not imported.is_loaded(own):
                what = f"{own.__module__}.{own.__qualname__} is not one of the package's classes"
                raise BadType(what, hint=_HOW_TO_IMPORT)
        _ = self.imports  # now: another thread may load another version of a module later
        self._set("version", self.version or __version__)
        self._set("kernels", self.kernels or kernel_digest())
        _ = self.recorded

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        policies: PolicyLike | Iterable[PolicyLike],
        problems: ProblemLike | Iterable[ProblemLike],
        runs: int,
        seed: int = 0,
        rounds: int | Iterable[int] | None = None,
        horizon: int | Iterable[int] | None = None,
        device: str = "cpu",
    ) -> Plan:
        """Return a plan for one policy or several on one problem or several, each an object or a text.

        Parameters
        ----------
        policies, problems
            What is refused: what another process could not make again from its repr.
        runs, seed, rounds, device
            As in `Plan`.
        horizon
            Rounds per run, or several numbers of them, each for every problem (default: each problem's own).
        """
        chosen = tuple(as_policy(policy) for policy in listed("policies", policies))
        played = tuple(as_problem(problem) for problem in listed("problems", problems))
        if horizon is not None:
            horizons = [whole_number("horizon", each, minimum=1) for each in listed("horizon", horizon)]
            played = tuple(dataclasses.replace(problem, horizon=each) for problem in played for each in horizons)
        return cls(chosen, played, runs, seed, rounds, device=device)  # type: ignore[arg-type]

    # The user's own classes.

    @cached_property
    def own_classes(self) -> tuple[type, ...]:
        """The user's own classes that policies and problems are made of."""
        every = dict.fromkeys(_classes((self.policies, self.problems)))
        return tuple(kind for kind in every if not belongs_to_package(kind))

    @cached_property
    def imports(self) -> tuple[imported.Source, ...]:
        """The modules of the user that its classes come from, and what those need."""
        return imported.sources_of(self.own_classes)

    # Its runs: numbered problem by problem, within it policy by policy, within it run by run.

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of problems, policies and runs."""
        return len(self.problems), len(self.policies), self.runs

    @property
    def cells(self) -> int:
        """The number of pairs of a policy and a problem."""
        return len(self.problems) * len(self.policies)

    @property
    def total_runs(self) -> int:
        """The number of runs of the whole sweep."""
        return self.cells * self.runs

    def number(self, problem: int, policy: int, run: int) -> int:
        """Return the number of a run."""
        return (problem * len(self.policies) + policy) * self.runs + run

    def pieces(self, numbers: range) -> Iterator[Piece]:
        """Yield the cells, or parts of them, that some consecutive runs belong to."""
        start = numbers.start
        while start < numbers.stop:
            cell, run = divmod(start, self.runs)
            stop = min(start + self.runs - run, numbers.stop)
            problem, policy = divmod(cell, len(self.policies))
            yield Piece(problem, policy, range(run, run + stop - start), range(start, stop))
            start = stop

    @cached_property
    def recorded(self) -> list[np.ndarray]:
        """The rounds at which regret is recorded, for each problem."""
        return [recorded_rounds(self.rounds, problem.horizon) for problem in self.problems]

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many regrets and how many counts of pulls are kept of a run, [problem, 2]."""
        return np.array([(len(rounds), each.n_arms) for rounds, each in zip(self.recorded, self.problems, strict=True)])

    @cached_property
    def policy_labels(self) -> list[str]:
        """What the policies are called: in short where that is clear, in full where it is not."""
        return told_apart(list(map(str, self.policies)), map(repr, self.policies))

    @cached_property
    def problem_labels(self) -> list[str]:
        """What the problems are called: by name, with the horizon or in full where names are alike."""
        labels = told_apart(list(map(str, self.problems)), [f"{each}, {each.horizon} rounds" for each in self.problems])
        return told_apart(labels, map(repr, self.problems))

    # The plan as a text, and what makes it this plan and no other.

    @cached_property
    def text(self) -> str:
        """The plan as JSON, from which `Plan.from_text` makes it again. Equal plans have equal texts."""
        content = {
            "format": FORMAT,
            "rotting": self.version,
            "kernels": self.kernels,
            "runs": self.runs,
            "seed": self.seed,
            "rounds": self.rounds,
            "policies": list(map(repr, self.policies)),
            "problems": list(map(repr, self.problems)),
            # Left out where it is not needed: plans of earlier versions keep their texts.
            **({} if self.device == "cpu" else {"device": self.device}),
            **({"imports": {source.name: source.digest for source in self.imports}} if self.imports else {}),
        }
        return json.dumps(content, indent=1) + "\n"

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the text: every block of results carries it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """Return the plan that a text was made from, and keep the text: an earlier version may have put it otherwise.

        `ParseError` if it is not a plan.
        """
        try:
            content = json.loads(text)
        except ValueError as error:
            raise ParseError(f"is not JSON: {error}", name="plan") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ParseError("has another format", name="plan", expected=FORMAT)
        _check_imports(content.get("imports", {}))
        try:
            policies, problems = map(parse_policy, content["policies"]), map(parse_problem, content["problems"])
            runs, seed, rounds = content["runs"], content["seed"], content["rounds"]
            played_by = content["rotting"], content["kernels"], content.get("device", "cpu")
            plan = cls(tuple(policies), tuple(problems), runs, seed, rounds, *played_by)
            plan.__dict__["text"] = text
            return plan
        except (KeyError, TypeError) as error:
            raise ParseError(f"lacks something, or holds something else: {error!r}", name="plan") from None


def refuse_other_than_more(old: Plan, new: Plan) -> str | None:
    """Say why a plan is not an earlier one and more, or return None if it is."""
    for name in ("seed", "rounds", "device"):
        if getattr(old, name) != getattr(new, name):
            return f"has another {name}"
    if new.runs < old.runs:
        return f"has {new.runs} runs of each cell instead of {old.runs}"
    for word, had, has in (("policy", old.policies, new.policies), ("problem", old.problems, new.problems)):
        kept = set(map(repr, has))
        for each in had:
            if repr(each) not in kept:
                return f"lacks the {word} {each}"
    return None


def as_policy(policy: object) -> Policy:
    """Return the policy that was given, or that a text describes, as another process would make it from its text."""
    made = parse_policy(policy) if isinstance(policy, str) else policy
    if not isinstance(made, Policy):
        raise BadType(
            f"holds {made!r}, which is not a Policy",
            name="policies",
            hint="rotting.simulate plays any class; a sweep, which is written down, plays policies only",
        )
    return made if isinstance(policy, str) else _read_back("policies", made, parse_policy)


def as_problem(problem: object) -> Problem:
    """Return the problem that was given, or that a text describes, as another process would make it from its text."""
    made = named.as_problem(problem)
    return made if isinstance(problem, str) else _read_back("problems", made, parse_problem)


def _read_back(name: str, value: Item, parse: Callable[[str], Item]) -> Item:
    """Return what other processes will read: what the text does not say must not play a part here either."""
    where = f"{name}: {str(value)[:60]} cannot be written down and read back"
    try:
        again = parse(repr(value))
    except ParseError as error:
        raise error.within(where) from None
    # A class that was imported again has equals of another class.
    if again != value and not (type(again) is not type(value) and repr(again) == repr(value)):
        raise BadValue("it reads back as something else", owner=where)
    return again


def _classes(value: object) -> Iterator[type]:
    """Yield the classes of policies, problems and all that they are made of."""
    if isinstance(value, tuple):
        for part in value:
            if not isinstance(part, float | int):
                yield from _classes(part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        for field in dataclasses.fields(value):
            yield from _classes(getattr(value, field.name))


def _check_imports(wanted: object) -> None:
    """Refuse a plan whose modules are not loaded, or are not what they were."""
    if not isinstance(wanted, dict):
        raise ParseError("has imports that are no table", name="plan")
    for name, digest in wanted.items():
        if (found := imported.loaded_digest(name)) != digest:
            problem = "needs the module" if found is None else "needs another version of the module"
            raise MissingModule(name, f"{problem} {name} (SHA-256 {str(digest)[:16]}...)")
