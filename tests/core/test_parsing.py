"""Texts that name policies and problems: what is read, what is refused, and that nothing is ever evaluated."""

import contextlib

import pytest

from rotting._core.parsing import ParseError
from rotting.policies import AUCB, CTO, FEWA, SWA, WSWA, EffFEWA, Greedy, parse_policy
from rotting.problems import Problem, parse_problem, stationary, ten_arm, two_arm
from rotting.problems.curves import Constant, Drop, Drops, Exponential, Power, Table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FEWA", FEWA()),
        ("FEWA()", FEWA()),
        ("  FEWA( )\n", FEWA()),
        ("FEWA(0.1)", FEWA(alpha=0.1)),
        ("FEWA(alpha=.1, sigma=2)", FEWA(alpha=0.1, sigma=2.0)),
        ("FEWA(0.1, delta0=1e-3)", FEWA(alpha=0.1, delta0=0.001)),
        ("FEWA(alpha=+0.1)", FEWA(alpha=0.1)),
        ("Greedy()", Greedy()),
        ("EffFEWA(refresh='blocks')", EffFEWA(refresh="blocks")),
        ('EffFEWA(refresh="blocks")', EffFEWA(refresh="blocks")),
        ("WSWA(restart=True)", WSWA(restart=True)),
        ("SWA(alpha=None, mu_max=1.5, horizon=100)", SWA(alpha=None, mu_max=1.5, horizon=100)),
        ("AUCB(trend=Power(theta=0.5))", AUCB(trend=Power(theta=0.5))),
        ("AUCB(trend=[3, 2, 1])", AUCB(trend=Table((3.0, 2.0, 1.0)))),
        ("CTO(curves=(Power(0.1), Power(theta=0.5, step=10)))", CTO((Power(0.1), Power(theta=0.5, step=10)))),
        ("CTO(curves=[Drop(1, -0.5, 3), 0.5])", CTO((Drop(1.0, -0.5, 3), Constant(0.5)))),
        ("CTO([Drops([3, 2, 1], [5, 9]), Exponential(1, .1)])", CTO((Drops((3, 2, 1), (5, 9)), Exponential(1.0, 0.1)))),
    ],
)
def test_policies_are_read(text, expected):
    assert parse_policy(text) == expected
    assert type(parse_policy(text)) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two_arm", two_arm()),
        ("two_arm(L=4.235)", two_arm(L=4.235)),
        ("two_arm(0.5, horizon=1000, sigma=0.1)", two_arm(L=0.5, horizon=1000, sigma=0.1)),
        ("ten_arm()", ten_arm()),
        ("stationary([0, 1])", stationary([0.0, 1.0])),
        ("stationary(means=(-1, 0.5), sigma=2)", stationary([-1.0, 0.5], sigma=2.0)),
        ("Problem([1, Drop(1, 0, 3)], sigma=0.5)", Problem([1.0, Drop(1.0, 0.0, 3)], sigma=0.5)),
        *((repr(problem), problem) for problem in (two_arm(L=1 / 3), ten_arm(), stationary([0.1, 0.7]))),
    ],
)
def test_problems_are_read(text, expected):
    assert parse_problem(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fewa()", "did you mean 'FEWA'"),
        ("FEVA()", "did you mean 'FEWA'"),
        ("EffFEVA", "did you mean 'EffFEWA'"),
        ("UCB", "did you mean 'UCB1'"),
        ("xyzzy()", "'xyzzy' does not exist; it can be .*FEWA.*UCB1"),
        ("Policy()", "'Policy' does not exist"),
        ("Drop(1, 0, 5)", "policy 'Drop' does not exist"),
        ("two_arm()", "policy 'two_arm' does not exist"),
        ("FEWA(alfa=0.1)", "FEWA: alfa is not a parameter; did you mean 'alpha'"),
        ("FEWA(Alpha=0.1)", "did you mean 'alpha'"),
        ("FEWA(window=3)", "FEWA: window is not a parameter.*alpha.*sigma"),
        ("Greedy(alpha=1)", "Greedy: alpha is not a parameter; its parameters are none"),
        ("Greedy(1)", "Greedy: too many positional arguments"),
        ("FEWA(1, 2, 3, 4)", "FEWA: too many positional arguments.*alpha"),
        ("FEWA(0.1, alpha=0.1)", "FEWA: multiple values for argument 'alpha'"),
        ("CTO()", "CTO: missing a required argument: 'curves'"),
        ("FEWA(alpha=0)", "alpha=0 is out of range; expected a finite number > 0"),
        ("FEWA(alpha=-0.1)", "alpha=-0.1 is out of range"),
        ("FEWA(alpha='x')", "alpha='x' is not a number"),
        ("FEWA(alpha=True)", "alpha=True is not a number"),
        ("FEWA(alpha=None)", "alpha=None is not a number"),
        ("FEWA(alpha=1e400)", "alpha=inf is out of range"),
        ("EffFEWA(refresh='never')", "refresh='never' is not one of 'nested', 'blocks', 'printed'"),
        ("SWA(horizon=1.5)", "horizon=1.5 is not a whole number"),
        ("WSWA(alpha=None)", "expected mu_max"),
        ("CTO(curves=[])", "curves is empty"),
        ("CTO(curves=[Dorp(1, 0, 5)])", "curve 'Dorp' does not exist; did you mean 'Drop'"),
        ("CTO(curves=[Drop(1, 0)])", "Drop: missing a required argument: 'at'"),
        ("CTO(curves=[Drop(1, 0, when=5)])", "Drop: when is not a parameter"),
        ("CTO(curves=[Linear(0, 1, floor=5)])", "floor"),
        ("CTO(curves=[FEWA()])", "curve 'FEWA' does not exist"),
        ("AUCB(trend=0)", "trend"),
        ("Oracle(problem=3)", "problem=3 is not a problem"),
    ],
)
def test_what_is_wrong_is_named(text, says):
    with pytest.raises(ParseError, match=says):
        parse_policy(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("two_arms()", "problem 'two_arms' does not exist; did you mean 'two_arm'"),
        ("two_arm(K=2)", "two_arm: K is not a parameter"),
        ("two_arm(L=-1)", "L=-1 is out of range"),
        ("two_arm(sigma=-1)", "sigma=-1 is out of range"),
        ("two_arm(horizon=0)", "horizon=0 is out of range"),
        ("stationary([])", "at least one arm"),
        ("FEWA()", "problem 'FEWA' does not exist"),
        ("Problem([])", "at least one arm"),
        ("Problem([1, Uniform()])", "curve 'Uniform' does not exist"),
    ],
)
def test_what_is_wrong_with_a_problem_is_named(text, says):
    with pytest.raises(ParseError, match=says):
        parse_problem(text)


def test_a_parameter_given_twice_is_refused():
    """Python refuses it, too; taking one of the two values silently would be a guess."""
    with pytest.raises(ParseError, match="alpha"):
        parse_policy("FEWA(alpha=0.1, alpha=0.2)")


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "(", "FEWA(", "FEWA)", "FEWA(alpha=)", "FEWA(alpha 0.1)", "FEWA() FEWA()", "FEWA();"),
        *("FEWA()\nFEWA()", "x = FEWA()", "import os", "1", "'FEWA()'", "None", "[FEWA()]", "FEWA(),", "FEWA()()"),
        *("-FEWA()", "FEWA[0]", "FEWA(\0)", "FEWA(\ud800)", "FEWA(alpha=²)", "FEWA(alpha=0x)"),
        "FEWA(alpha=" + "9" * 5000 + ")",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_is_no_call_is_refused(text):
    for parse in (parse_policy, parse_problem):
        with pytest.raises(ParseError):
            parse(text)


@pytest.mark.parametrize("text", [None, 5, b"FEWA()", ["FEWA()"], FEWA()], ids=repr)
def test_what_is_no_text_is_refused(text):
    for parse in (parse_policy, parse_problem):
        with pytest.raises(ParseError):
            parse(text)


HARMFUL = [
    "__import__('pathlib').Path({path!r}).touch()",
    "FEWA(alpha=__import__('pathlib').Path({path!r}).touch())",
    "FEWA(alpha=open({path!r}, 'w'))",
    "FEWA(open({path!r}, 'w'))",
    "FEWA(**open({path!r}, 'w'))",
    "FEWA(*open({path!r}, 'w'))",
    "FEWA(alpha=[open({path!r}, 'w') for _ in (1,)])",
    "FEWA(alpha={{open({path!r}, 'w')}})",
    "FEWA(alpha={{'a': open({path!r}, 'w')}})",
    "FEWA(alpha=(lambda: open({path!r}, 'w'))())",
    "FEWA(alpha=(x := open({path!r}, 'w')))",
    "FEWA(alpha=f\"{{open({path!r}, 'w')}}\")",
    "FEWA(alpha=1 if open({path!r}, 'w') else 2)",
    "FEWA(alpha=open({path!r}, 'w') or 1)",
    "FEWA(alpha=[1][open({path!r}, 'w')])",
    "FEWA(alpha=0.1).start(open({path!r}, 'w'))",
    "CTO(curves=[Drop(1, 0, open({path!r}, 'w'))])",
    "CTO(curves=[open({path!r}, 'w')])",
    "CTO(curves=(eval(\"open({path!r}, 'w')\"),))",
    "stationary(means=[open({path!r}, 'w')])",
    "exec(\"open({path!r}, 'w')\")",
]


@pytest.mark.parametrize("template", HARMFUL)
def test_nothing_is_evaluated(template, tmp_path):
    path = tmp_path / "evaluated"
    text = template.format(path=str(path))
    for parse in (parse_policy, parse_problem):
        with pytest.raises(ParseError):
            parse(text)
    assert not path.exists()
    # The text does harm when it is evaluated, so that the check above means something.
    names = {name: lambda *a, **k: None for name in ("CTO", "Drop", "stationary")}
    with contextlib.suppress(Exception):
        eval(text, {**names, "FEWA": lambda *a, **k: type("Any", (), {"start": len})})
    assert path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "FEWA(alpha=().__class__.__bases__[0].__subclasses__())",
        "FEWA.known",
        "FEWA.__init__.__globals__",
        "FEWA(alpha=FEWA.alpha)",
        "rotting.FEWA()",
        "os.system('true')",
        "FEWA(alpha=1 + 1)",
        "FEWA(alpha=2 ** 0.5)",
        "FEWA(alpha=9**9**9**9)",
        "FEWA(alpha='a' * 10**9)",
        "FEWA(alpha=not 1)",
        "FEWA(alpha=~1)",
        "FEWA(alpha=1 < 2)",
        "FEWA(alpha=b'1')",
        "FEWA(alpha=1j)",
        "FEWA(alpha=...)",
        "FEWA(alpha=alpha)",
        "FEWA(alpha=print)",
        "FEWA(alpha=-'a')",
        "FEWA(alpha=-True)",
        "FEWA(alpha=await x)",
        "FEWA(alpha=(yield))",
        "FEWA(alpha=*(1,))",
        "FEWA(*(0.1,))",
        "FEWA(**{'alpha': 0.1})",
        "(lambda: FEWA())()",
        "FEWA() if True else FEWA()",
        "[FEWA() for _ in range(3)]",
    ],
)
def test_expressions_are_refused(text):
    with pytest.raises(ParseError):
        parse_policy(text)


DEPTH = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "FEWA(alpha=" + "(" * DEPTH + "1" + ")" * DEPTH + ")",
        "FEWA(alpha=" + "[" * DEPTH + "]" * DEPTH + ")",
        "FEWA(alpha=" + "[" * 150 + "]" * 150 + ")",
        "FEWA(alpha=" + "-" * DEPTH + "1)",
        "FEWA(alpha=" + "-" * 900 + "'a')",
        "FEWA" + "()" * DEPTH,
        "FEWA" + ".x" * DEPTH,
        "FEWA(alpha=" + "Drop(" * 100 + ")" * 100 + ")",
        "FEWA(alpha=1" + "+1" * DEPTH + ")",
        "FEWA(alpha=" + "1 if 1 else " * (DEPTH // 10) + "1)",
    ],
    ids=lambda text: f"{text[:20]}...",
)
def test_deep_nesting_is_refused(text):
    with pytest.raises(ParseError):
        parse_policy(text)


def test_long_texts_are_refused_in_a_short_message():
    for text in ("FEWA(" + " " * 2 * 10**7 + ")", "x" * 2 * 10**7, "FEWA(alpha='" + "x" * 90_000 + "')"):
        with pytest.raises(ParseError) as caught:
            parse_policy(text)
        assert len(str(caught.value)) < 1000


def test_a_long_table_is_no_abuse():
    values = tuple(float(n) for n in range(9000, 0, -1))
    assert parse_policy(repr(AUCB(trend=Table(values)))).trend == Table(values)


def test_parse_errors_are_value_errors_without_a_trail():
    with pytest.raises(ParseError) as caught:
        parse_policy("FEWA(alpha=-1)")
    assert isinstance(caught.value, ValueError)
    assert caught.value.__suppress_context__  # the user sees one message, not two
