"""Numbers as people and ad platforms write them: $3.20, 1.234,56, 1,234, 3.5 %, yes.

A log has one decimal mark, which all texts of its columns tell together, file by file: "1,234" alone could be two.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from rotting.errors import quoted
from rotting.logs.read.options import LogError
from rotting.logs.read.tables import Source, in_sql, list_in_sql, text_in_sql

KINDS_OF_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "U")
# Squares and sums of larger numbers would overflow.
LARGEST = 1e50
WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0, "t": 1.0, "f": 0.0}
# Texts that stand for no number. As the name of an arm only the first two are none.
MISSING = ("", "\\N", "nan", "na", "null", "none", "n/a", "#n/a")
_CODES = "USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|INR|BRL|CNY|MXN|CZK|HUF|TRY|ZAR|SGD|HKD|NZD"
_SYMBOL = rf"([$€£¥₹₩₽₺₫฿]|[A-Z]{{1,3}}\$|(?:{_CODES}|kr|Ft|Rs)\b\.?|zł|Kč|Fr\.)?"
_MINUS = "\u2212"
_BLANKS = "[ \u00a0\u202f]*"  # spreadsheets put one that does not break before € and %
_APART = "['\u2019 \u00a0\u202f]"  # between thousands
_DIGITS = f"([0-9]{{1,3}}(?:{_APART}[0-9]{{3}})+(?:[.,][0-9]+)?|[0-9.,]*[0-9][0-9.,]*)"
# Spreadsheets write '12 and ="12" to keep a text as it is.
_NUMBER = (
    rf"^(?:'|=\")?([-+{_MINUS}]?){_BLANKS}{_SYMBOL}{_BLANKS}([-{_MINUS}]?){_DIGITS}{_BLANKS}{_SYMBOL}{_BLANKS}(%?)\"?$"
)
_READ_WITH = {
    # In India, two digits stand between the commas above the thousands: 12,34,567.
    ".": r"(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?:\.[0-9]*)?|\.[0-9]+",
    ",": r"(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,[0-9]*)?|,[0-9]+",
}
_ASK = "say which mark stands before decimals with {decimal}: '.' or ','"


def are_numbers(texts: Iterable[str]) -> bool:
    """Say whether some texts are numbers, true or false: a tenth of them, as others may stand for missing ones.

    >>> are_numbers(["$3.20", "yes", ""]), are_numbers(["Low", "High"])
    (True, False)
    """
    plain = re.compile(r"[-+]?([0-9.]+([eE][-+]?[0-9]+)?|inf)")
    known = [
        text.lower().strip("-") in (*WORDS, *MISSING) or plain.fullmatch(text) or re.match(_NUMBER, text)
        for text in texts
    ]
    return 10 * sum(map(bool, known)) >= len(known)


def missing_in_sql(column: str, null: str | None = None) -> str:
    """Return SQL that says whether a text stands for no number and no time."""
    missing = list_in_sql(each.lower() for each in (*MISSING, null or ""))
    return f"lower(trim({column}::VARCHAR)) IN ({missing})"


@dataclasses.dataclass(frozen=True)
class Numbers:
    """How the numbers of a log are written."""

    mark: str | None = None  # before decimals; None where nothing tells
    currency: str = ""
    rates: bool = False  # whether rewards are percentages

    def sql(self, column: str, kind: str) -> str:
        """Return SQL that reads a column of this type, NULL for what is no number."""
        if kind.startswith(KINDS_OF_NUMBERS):
            return f"nullif({in_sql(column)}::DOUBLE, 'nan')"
        mark, text = self.mark or ".", f"trim({in_sql(column)}::VARCHAR)"
        known = " ".join(f"WHEN '{word}' THEN {value}" for word, value in WORDS.items())
        machine = "true" if mark == "." else f"regexp_matches({text}, '^[-+]?[0-9]+([.][0-9]+)?[eE]')"
        part = _parts(text)
        digits = f"{part}.digits"
        value = f"CASE WHEN regexp_full_match({digits}, '{_READ_WITH[mark]}') THEN replace(replace({digits}, "
        value += f"'{'.,'.replace(mark, '')}', ''), ',', '.')::DOUBLE END"
        sign = f"CASE WHEN trim({part}.sign || {part}.inner, '+') = '' THEN 1 ELSE -1 END"
        share = f"CASE WHEN {part}.percent = '' THEN 1 ELSE 100 END"
        return (
            f"nullif(coalesce(CASE WHEN {machine} THEN try_cast({text} AS DOUBLE) END, CASE lower({text}) {known} END, "
            f"{sign} * {value} / {share}), 'nan')"
        )


def _parts(text: str) -> str:
    """Return SQL for a number that is written in some way, apart from its decimal mark."""
    names = "['sign', 'before', 'inner', 'digits', 'after', 'percent']"
    plain = f"regexp_replace({text}, {text_in_sql(f'([0-9]){_APART}([0-9]{{3}})')}, '\\1\\2', 'g')"
    return f"regexp_extract({plain}, {text_in_sql(_NUMBER)}, {names})"


def numbers_of(source: Source, columns: Mapping[str, str], decimal: str | None) -> Numbers:
    """Return how the numbers of some columns, by their roles, are written; refuse what could be two numbers.

    Numbers of exposures are whole: "1,234" can only be a thousand and more.
    """
    tells: dict[int, dict[str, str]] = defaultdict(dict)
    unsure: dict[int, str] = {}
    currency, owner, rates = "", "", False
    for role, column in columns.items():
        owner = f"{role} column {column!r}"
        found = _looked_up(source, column) if source.kinds[column] == "VARCHAR" else []
        currency = _currency(found, owner) or currency
        rates |= role == "reward" and any(row[3] for row in found)
        for file, mark, *_, text in found:
            if mark == "either" and role == "impressions":
                tells[file].setdefault("." if "," in text else ",", text)
            elif mark == "either":
                unsure.setdefault(file, text)
            elif mark:
                tells[file].setdefault(mark, text)
    if decimal is not None:
        return Numbers(decimal, currency, rates)
    marks = {mark: text for known in tells.values() for mark, text in known.items()}
    if len(marks) > 1:
        raise LogError(f"{quoted(marks[','])} and {quoted(marks['.'])} cannot both be numbers", owner=owner, hint=_ASK)
    for file, text in unsure.items():
        if file not in tells:
            more = ", and only other files tell which" if marks else ""
            digits = re.sub("[^0-9.,]", "", text)
            low, high = sorted((float(digits.replace(",", ".", 1).replace(",", "")), float(re.sub("[.,]", "", digits))))
            raise LogError(f"{quoted(text)} could be {low:g} or {high:g}{more}", owner=owner, value=text, hint=_ASK)
    return Numbers(next(iter(marks), None), currency, rates)


def _looked_up(source: Source, column: str) -> list[tuple[Any, ...]]:
    """Return the ways in which numbers of a column are written, with an example of each.

    A way is the file, the decimal mark that fits, or "either" if both do and differ, the currency, whether it is a
    percentage and whether it is something else than 0.
    """
    part = "coalesce(part.digits, text)"
    return source.find(
        f"""
        WITH texts AS (SELECT {source.file} AS file, trim({in_sql(column)}) AS text FROM log),
        parts AS (SELECT file, text, CASE WHEN NOT regexp_full_match(text, '[0-9]+') THEN {_parts("text")} END AS part
            FROM texts)
        SELECT file, CASE WHEN NOT regexp_matches({part}, '[.,]') THEN '' ELSE
            CASE [regexp_full_match({part}, '{_READ_WITH["."]}'), regexp_full_match({part}, '{_READ_WITH[","]}')]
            WHEN [true, true] THEN 'either' WHEN [true, false] THEN '.' WHEN [false, true] THEN ',' END END AS mark,
            coalesce(part.before || part.after, '') AS currency, coalesce(part.percent != '', false) AS share,
            regexp_matches({part}, '[1-9]') AS counts, min(text)
        FROM parts WHERE {part} != '' AND regexp_matches({part}, '^[0-9.,]+$') GROUP BY ALL
        """
    )


def _currency(found: list[tuple[Any, ...]], owner: str) -> str:
    """Return the currency of some amounts; refuse several, amounts without one, and shares beside numbers."""
    currencies = sorted({row[2] for row in found} - {""})
    if len(currencies) > 1:
        problem = f"holds different currencies ({', '.join(map(quoted, currencies[:4]))})"
        raise LogError(problem, owner=owner, expected="one currency", hint="convert them first")
    # Nothing is nothing in any currency, and as a percentage.
    if len({row[3] for row in found if row[4]}) > 1:
        raise LogError("holds percentages and other numbers", owner=owner, expected="one of them")
    if currencies and any(row[4] and not row[2] for row in found):
        problem = f"holds amounts with a currency ({quoted(currencies[0])}) and others without"
        raise LogError(problem, owner=owner, expected="one currency", hint="write all of them in one currency")
    return currencies[0] if currencies else ""
