"""What must not be so in a log: queries that find it, and what is said then."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from rotting.errors import quoted
from rotting.logs.read.options import LogError
from rotting.logs.read.tables import Source


@dataclasses.dataclass(frozen=True)
class Rule:
    """What may be wrong with a log: a query that finds it, and what is said then."""

    broken: str  # a query that finds a row, if something is wrong
    problem: str  # {names} are values of that row, or columns of the log by their roles; so in `owner`
    owner: str = ""
    expected: str | None = None
    hint: str | None = None
    refused: bool = True  # or only said


def abiding(rows: Source, rules: Iterable[Rule], names: Mapping[str, object]) -> Source:
    """Refuse rows that break a rule, or say so."""
    for rule in rules:
        if (found := rows.first_as_dict(rule.broken)) is not None:
            words = {**names, **found}
            quote = quoted if rule.refused else repr
            texts = {name: quote(each) if isinstance(each, str) else each for name, each in words.items()}
            problem = rule.problem.format(**texts)
            if rule.refused:
                owner = rule.owner.format(**words) or None
                raise LogError(problem, owner=owner, expected=rule.expected, hint=rule.hint)
            rows = rows.saying(problem)
    return rows
