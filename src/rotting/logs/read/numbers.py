"""Numbers as people and ad platforms write them: $3.20, 1.234,56, 1,234, 3.5 %, yes.

What a text means is decided from all texts of the log together: "1,234" alone could be two numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rotting.errors import quoted
from rotting.logs.read.options import LogError

KINDS_OF_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "U")

WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0, "t": 1.0, "f": 0.0}
# Texts that stand for no number. As the name of an arm only the first two are none.
MISSING = ("", "\\N", "nan", "na", "null", "none", "n/a", "#n/a")
_CODES = "USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|INR|BRL|CNY|MXN|CZK|HUF|TRY|ZAR|SGD|HKD|NZD"
_SYMBOLS = rf"[$€£¥₹₩₽₺₫฿]|[A-Z]{{1,3}}\$|(?:{_CODES}|kr|zł|Kč|Ft)\b\.?|Rs\b\.?|Fr\."
_BLANK = "[ \u00a0\u202f]"  # spreadsheets put one that does not break before € and %
_NUMBER = re.compile(
    rf"(?P<sign>[-+\u2212]?){_BLANK}*(?P<before>{_SYMBOLS})?{_BLANK}*(?P<inner>[-\u2212]?)"
    r"(?P<digits>[0-9][0-9.,'\u2019 \u00a0\u202f]*?|[.,][0-9]+)"
    rf"{_BLANK}*(?P<after>{_SYMBOLS})?{_BLANK}*(?P<percent>%?)"
)
_SPACES = re.compile("['\u2019 \u00a0\u202f]")
_GROUPED = re.compile(r"[0-9]{1,3}(?:['\u2019 \u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?|[0-9.,]+")
_READ_WITH = {
    # In India, two digits stand between the commas above the thousands: 12,34,567.
    ".": re.compile(
        r"(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?:\.[0-9]*)?|\.[0-9]+"
    ),
    ",": re.compile(r"(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,[0-9]*)?|,[0-9]+"),
}


class Written:
    """A number as it is written, apart from its decimal mark."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Spreadsheets write '12 and ="12" to keep a text as it is.
        stripped = text.strip().removeprefix("'").removeprefix('="').removesuffix('"')
        self.negative = stripped.startswith("(") and stripped.endswith(")")  # as accountants write it
        matched = _NUMBER.fullmatch(stripped[1:-1] if self.negative else stripped)
        self.digits = ""
        self.currency, self.percent = "", False
        if matched is None or not _GROUPED.fullmatch(matched["digits"]):
            return
        self.digits = _SPACES.sub("", matched["digits"])
        self.currency = (matched["before"] or "") + (matched["after"] or "")
        self.percent = bool(matched["percent"])
        self.negative ^= (matched["sign"] + matched["inner"]).strip("+") != ""

    def marks(self) -> set[str]:
        """Return the decimal marks with which these digits can be read: both, one or none of them."""
        return {mark for mark, form in _READ_WITH.items() if form.fullmatch(self.digits)}

    def value(self, mark: str) -> float:
        """Return the number, read with one of its marks."""
        digits = self.digits.replace("," if mark == "." else ".", "").replace(",", ".")
        return (-1 if self.negative else 1) * float(digits) / (100 if self.percent else 1)


def are_numbers(texts: Iterable[str]) -> bool:
    """Say whether some texts are numbers, true or false: a tenth of them, as others may stand for missing ones.

    >>> are_numbers(["$3.20", "yes", ""]), are_numbers(["Low", "High"])
    (True, False)
    """
    plain = re.compile(r"[-+]?([0-9.]+([eE][-+]?[0-9]+)?|inf)")
    known = [
        text.lower().strip("-") in (*WORDS, *MISSING) or plain.fullmatch(text) or Written(text).marks()
        for text in texts
    ]
    return 10 * sum(map(bool, known)) >= len(known)


def read_numbers(
    texts: Iterable[str], role: str, column: str, decimal: str | None, has_points: bool, whole: bool = False
) -> dict[str, float]:
    """Return the numbers that some texts of a column mean; those that mean none are left out.

    Parameters
    ----------
    texts
        The texts that are no plain numbers, or could be two ("1.234").
    role, column
        What the column is called.
    decimal
        The decimal mark, "." or ","; None to find it out.
    has_points
        Whether other texts of the column have a decimal point for sure.
    whole
        Whether they must be whole: then "1,234" can only be a thousand and more.

    Examples
    --------
    >>> read_numbers(["$1,234.50", "$3"], "reward", "spend", None, False)
    {'$1,234.50': 1234.5, '$3': 3.0}
    >>> read_numbers(["1.234", "0,5"], "reward", "revenue", None, False)
    {'1.234': 1234.0, '0,5': 0.5}
    """
    written = {text: each for text in texts if (each := Written(text)).marks()}
    _refuse_mixtures(written, role, column)
    mark = decimal or _decimal_mark(written, role, column, has_points, whole)
    return {text: each.value(mark) for text, each in written.items() if mark in each.marks()}


def _decimal_mark(written: dict[str, Written], role: str, column: str, has_points: bool, whole: bool) -> str:
    """Return the decimal mark that fits; refuse texts that need different ones, or fit both."""
    needs = {mark: next((text for text, each in written.items() if each.marks() == {mark}), None) for mark in ".,"}
    hint = "say which mark stands before decimals with {decimal}: '.' or ','"
    owner = f"{role} column {column!r}"
    if needs[","] is not None and (needs["."] is not None or has_points):
        other = quoted(needs["."]) if needs["."] is not None else "a decimal point elsewhere"
        raise LogError(f"{quoted(needs[','])} and {other} cannot both be numbers", owner=owner, hint=hint)
    if needs[","] is not None or needs["."] is not None or has_points:
        return "," if needs[","] is not None else "."
    unsure = [each for each in written.values() if each.value(".") != each.value(",")]
    if not unsure:
        return "."
    if whole:
        return next(mark for mark in ".," if mark not in unsure[0].digits)
    text = next(text for text, each in written.items() if each is unsure[0])
    low, high = sorted((unsure[0].value("."), unsure[0].value(",")))
    raise LogError(f"{quoted(text)} could be {low:g} or {high:g}", owner=owner, value=text, hint=hint)


def _refuse_mixtures(written: dict[str, Written], role: str, column: str) -> None:
    """Refuse sums in different currencies, and shares beside numbers."""
    owner = f"{role} column {column!r}"
    currencies = sorted({each.currency for each in written.values() if each.currency})
    if len(currencies) > 1:
        problem = f"holds different currencies ({', '.join(map(quoted, currencies[:4]))})"
        raise LogError(problem, owner=owner, expected="one currency", hint="convert them first")
    shares = {each.percent for each in written.values()}
    if len(shares) > 1:
        raise LogError("holds percentages and other numbers", owner=owner, expected="one of them")


def number_of(column: str, kind: str) -> str:
    """Return SQL that reads a column of this type as a number, NULL where that could mean two things."""
    if kind.startswith(KINDS_OF_NUMBERS):
        return f"{column}::DOUBLE"
    text = f"trim({column}::VARCHAR)"
    known = " ".join(f"WHEN '{word}' THEN {value}" for word, value in WORDS.items())
    # "1.234" may be a thousand and more.
    unsure = f"substr({text}, -4, 1) = '.' AND length({text}) < 9 AND substr(ltrim({text}, '+-'), 1, 1) != '0'"
    number = f"CASE WHEN {unsure} THEN NULL ELSE try_cast({text} AS DOUBLE) END"
    return f"coalesce({number}, CASE lower({text}) {known} END)"
