r"""Formulas of the pages as MathML, which browsers draw by themselves: no script, no fonts from elsewhere.

Pages write formulas as GitHub reads them, $`x_i^2`$ in a line and a fence of the language `math` for one of its own.
Of TeX only what the pages need is known; anything else is an error, and so the site is not built.

>>> to_mathml("a_i")
'<math><mrow><msub><mi>a</mi><mi>i</mi></msub></mrow></math>'
"""

from __future__ import annotations

import re
from html import escape

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|\S")
LETTERS = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "Delta": "Δ",
    "mu": "μ",
    "pi": "π",
    "sigma": "σ",
    "theta": "θ",
    "tau": "τ",
    "infty": "∞",
    "ell": "ℓ",
    "dots": "…",
}
OPERATORS = {
    "le": "≤",
    "ge": "≥",
    "ne": "≠",
    "approx": "≈",
    "cdot": "⋅",
    "times": "×",
    "in": "∈",
    "sum": "∑",
    "quad": "\u2003",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "{": "{",
    "}": "}",
    ",": "\u2009",
}
NAMES = {"log", "ln", "max", "min", "sup", "arg", "exp"}
ACCENTS = {"hat": "^", "bar": "¯", "tilde": "~"}
LIMITS = {"sum", "max", "min", "sup"}
# Elements for what stands below or above, beside a letter or under and over an operator.
SCRIPTS = {
    frozenset("_"): ("msub", "munder"),
    frozenset("^"): ("msup", "mover"),
    frozenset("_^"): ("msubsup", "munderover"),
}


def to_mathml(tex: str, block: bool = False) -> str:
    """Return a formula as a MathML element; `block` puts it on a line of its own."""
    tokens = TOKEN.findall(tex)
    inside = _row(tokens, end=None)
    if tokens:
        raise ValueError(f"{tokens[0]!r} is not expected in the formula {tex!r}")
    display = ' display="block"' if block else ""
    return f"<math{display}>{inside}</math>"


def _row(tokens: list[str], end: str | None) -> str:
    """Read up to the token `end`, or all."""
    parts: list[str] = []
    while tokens and tokens[0] != end:
        parts.append(_with_scripts(tokens))
    if end is not None:
        if not tokens:
            raise ValueError(f"a {end} is missing")
        tokens.pop(0)
    return f"<mrow>{''.join(parts)}</mrow>"


def _with_scripts(tokens: list[str]) -> str:
    """Read one thing and what stands below and above it."""
    limits = tokens[0].removeprefix("\\") in LIMITS
    base = _atom(tokens)
    scripts: dict[str, str] = {}
    while tokens and tokens[0] in "_^" and tokens[0] not in scripts:
        place = tokens.pop(0)
        scripts[place] = _atom(tokens)
    if not scripts:
        return base
    name = SCRIPTS[frozenset(scripts)][limits]
    return f"<{name}>{base}{scripts.get('_', '')}{scripts.get('^', '')}</{name}>"


def _atom(tokens: list[str]) -> str:
    """Read one token, group or command with its arguments."""
    if not tokens:
        raise ValueError("the formula ends too early")
    token = tokens.pop(0)
    if token == "{":
        return _row(tokens, end="}")
    if token.startswith("\\"):
        return _command(token[1:], tokens)
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    return f"<mi>{token}</mi>" if token.isalpha() else f"<mo>{escape(token)}</mo>"


def _command(name: str, tokens: list[str]) -> str:
    if name in LETTERS:
        return f"<mi>{LETTERS[name]}</mi>"
    if name in NAMES:
        return f"<mi>{name}</mi><mo>&#x2061;</mo>" if name not in LIMITS else f"<mo>{name}</mo>"
    if name in OPERATORS:
        return f"<mo>{OPERATORS[name]}</mo>"
    if name == "sqrt":
        return f"<msqrt>{_atom(tokens)}</msqrt>"
    if name == "frac":
        return f"<mfrac>{_atom(tokens)}{_atom(tokens)}</mfrac>"
    if name in ACCENTS:
        return f'<mover accent="true">{_atom(tokens)}<mo>{ACCENTS[name]}</mo></mover>'
    raise ValueError(f"\\{name} is not known to docs_build/mathematics.py")
