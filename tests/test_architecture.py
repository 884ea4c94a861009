"""Dependencies point one way: from what users see down to what everything rests on."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import rotting

PACKAGE = Path(rotting.__file__).parent

# What each part of the package reaches, directly or through others: no more than this, and no less. A part that is not
# listed may not exist; a line that is longer than it need be fails, too.
BASE = {"errors", "_core"}
REACHES = {
    "errors": set(),
    "_core": {"errors"},
    "_output": BASE,
    "problems": BASE,
    "policies": BASE | {"_output", "problems"},
    "theory": BASE | {"problems"},
    "play": BASE | {"_output", "problems", "policies"},
    "simulation": BASE | {"_output", "problems", "policies", "play"},
    "sweeps": BASE | {"_output", "problems", "policies", "play", "simulation"},
    "paper": BASE | {"_output", "problems", "policies", "play", "simulation", "theory"},
    "bandit": BASE | {"_output", "problems", "policies"},
    "testing": BASE | {"_output", "problems", "policies", "bandit"},
    "logs": BASE | {"_output", "problems", "policies", "play", "simulation"},
    "value": BASE | {"_output", "problems", "policies", "play", "simulation", "bandit", "logs"},
    "serve": BASE | {"_output", "problems", "policies", "bandit"},
    "cli": BASE
    | {"_output", "problems", "policies", "play", "simulation", "sweeps", "paper", "bandit", "logs", "theory", "serve"}
    | {"value"},
    # At home in other libraries.
    "gym": BASE | {"_output", "problems", "policies", "play"},
    "river": BASE | {"_output", "problems", "policies"},
    # Public names for what lies deeper.
    "_public": set(),
    "curves": BASE | {"problems"},
    "parameters": BASE,
    "randomness": BASE,
}
REACHES["__main__"] = REACHES["cli"] | {"cli"}
# (module, part it imports, why that is all right). All of them inside functions: nothing happens at import time.
EXCEPTIONS = {
    ("logs.diagnosis", "value"): "where a log has probabilities, gains are measured; value stands on what logs read",
    ("problems.problem", "logs"): "Problem.from_log is where users look for it; fitting is the business of logs",
    ("bandit.log.warming", "logs"): "a warm start may be any log; reading it is the business of logs, and needs DuckDB",
}
# Only this may be imported from the package itself: any other name there would be a way round these rules.
FROM_THE_TOP = {"__version__"}

Imports = dict[str, list[tuple[str, bool]]]


def part(module: str) -> str:
    return module.partition(".")[0]


def imports(source: str, module: str, package: bool = False) -> list[tuple[str, bool]]:
    """Return (imported module without `rotting.`, only inside a function or for type checking?) of a source text."""
    found = []

    def visit(node: ast.AST, lazy: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            if node.level:
                own = ["rotting", *(module.split(".") if module else [])]
                own = own[: len(own) - node.level + (1 if package else 0)]
                name = ".".join([*own, *([name] if name else [])])
            # `from rotting.x import y`: y may be a module itself, or a name in x.
            found.extend((f"{name}.{alias.name}" if name.count(".") == 0 else name, lazy) for alias in node.names)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        checking = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.iter_child_nodes(node):
            visit(child, lazy or inside or checking)

    visit(ast.parse(source), lazy=False)
    return [
        (name.removeprefix("rotting").removeprefix("."), lazy)
        for name, lazy in found
        if name == "rotting" or name.startswith("rotting.")
    ]


def modules() -> Imports:
    """Return what every module of the package imports; tests may add to it."""
    return dict(_modules())


@cache
def _modules() -> Imports:
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if package else parts)
        found[name] = imports(file.read_text(), name, package)
    return found


def direct(found: Imports) -> dict[str, dict[str, str]]:
    """Return for each part what it imports, and an example of where."""
    edges: dict[str, dict[str, str]] = {}
    for module, imported in found.items():
        own = part(module)
        edges.setdefault(own, {})
        for name, lazy in imported:
            target = part(name)
            if name in FROM_THE_TOP or target == own or (lazy and (module, target) in EXCEPTIONS):
                continue
            edges[own].setdefault(target, f"{module} imports {name or 'rotting'}")
    return edges


def reached(edges: dict[str, dict[str, str]], start: str) -> dict[str, str]:
    """Return all that a part reaches, and the way there."""
    ways: dict[str, str] = {}
    waiting = [(start, "")]
    while waiting:
        here, way = waiting.pop()
        for target, example in edges.get(here, {}).items():
            if target not in ways:
                ways[target] = f"{way}{example}"
                waiting.append((target, f"{way}{example}; "))
    return ways


def violations(found: Imports) -> list[str]:
    edges = direct(found)
    problems = [f"{own} is not in the table" for own in edges if own and own not in REACHES]
    for own, allowed in REACHES.items():
        ways = reached(edges, own)
        problems += [f"{own} reaches {target}: {way}" for target, way in ways.items() if target not in allowed]
    return problems


def test_dependencies_point_one_way():
    assert violations(modules()) == []


def test_the_table_allows_nothing_that_is_not_used():
    edges = direct(modules())
    idle = {own: allowed - set(reached(edges, own)) for own, allowed in REACHES.items()}
    assert {own: left for own, left in idle.items() if left} == {}
    assert set(REACHES) == set(edges) - {""}


def test_exceptions_are_few_and_still_needed():
    found = modules()
    assert len(EXCEPTIONS) <= 3
    for module, target in EXCEPTIONS:
        used = [lazy for name, lazy in found[module] if part(name) == target]
        assert used, f"{module} no longer imports {target}: remove the exception"
        assert all(used), f"{module} imports {target} outside a function"


def test_no_module_imports_itself_in_a_circle():
    found = modules()
    graph = {
        module: {other for name, lazy in imported if not lazy for other in [known(name, found)] if other != module}
        for module, imported in found.items()
        if module
    }
    # A package is imported before what is in it; that alone is no circle, so packages' own lists are left out.
    packages = {module for module in found if (PACKAGE / Path(*module.split(".")) / "__init__.py").exists()}
    tuple(TopologicalSorter({m: d - packages for m, d in graph.items() if m not in packages}).static_order())


def known(name: str, found: Imports) -> str:
    """Return the module that a dotted name lies in."""
    while name not in found:
        name = name.rpartition(".")[0]
    return name


# The one place of the engine that may import the list of policies, inside a function: texts find policies by name.
READS_POLICIES = "policies._contract.policy"


def engine_violations(found: Imports) -> list[str]:
    engine = ("policies._contract", "policies._windows")
    policies = {m for m in found if m.startswith("policies.") and not m.startswith(engine)} | {"policies"}
    return [
        f"{module} imports {name}"
        for module, imported in found.items()
        if module.startswith(engine)
        for name, lazy in imported
        if name in policies and not (lazy and module == READS_POLICIES and name == "policies")
    ]


def test_policies_use_the_engine_and_the_engine_no_policy():
    """A policy is one file: neither the engine nor the core knows any of them by name."""
    assert engine_violations(modules()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from rotting.policies import UCB1",
        "from rotting.policies.ucb1 import UCB1",
        "def f():\n    from rotting.policies import UCB1",
        "import rotting.policies.fewa",
    ],
)
def test_the_engine_rule_notices_violations(source):
    found = modules()
    found["policies._contract.views"] = imports(source, "policies._contract.views")
    assert engine_violations(found)


# Which names of databases and their drivers occur in the code, texts aside, and what may import what within the bandit.
DIALECTS = ("sqlite", "postgres", "psycopg")
BELOW = {
    "bandit.core": ("bandit.log", "bandit.store", "bandit.report"),
    "bandit.store": ("bandit.log", "bandit.report"),
}


def names_in(source: str) -> set[str]:
    """Return every name in a text of Python: of variables, attributes, arguments, modules."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        found |= {getattr(node, field) for field in ("id", "attr", "arg", "name", "module") if hasattr(node, field)}
    return {str(name).lower() for name in found if name}


def test_only_stores_know_a_database():
    files = [*PACKAGE.joinpath("bandit").rglob("*.py"), *PACKAGE.joinpath("serve").rglob("*.py")]
    outside = [file for file in files if file.parent != PACKAGE / "bandit" / "store"]
    found = {
        (file.name, name)
        for file in outside
        for name in names_in(file.read_text())
        if any(each in name for each in DIALECTS)
    }
    assert found == set()
    assert any("sqlite" in name for name in names_in("import sqlite3"))


def test_from_outside_only_the_doors_of_the_bandit_are_used():
    doors = {"bandit", "bandit.store", "bandit.store.hosts"}  # the last needs PostgreSQL's driver
    # The simulator is a test of what lies behind the door.
    inside = ("bandit", "testing.clients", "testing.promises", "testing.world")
    crossing = [
        f"{module} imports {name}"
        for module, imported in modules().items()
        if not module.startswith(inside)
        for name, _ in imported
        if name.startswith("bandit.") and known(name, modules()) not in doors
    ]
    assert crossing == []


def test_within_the_bandit_dependencies_point_one_way():
    """The core does nothing but think, and stores know no bandit."""
    crossing = [
        f"{module} imports {name}"
        for module, imported in modules().items()
        for lower, higher in BELOW.items()
        if module.startswith(lower)
        for name, _ in imported
        if name.startswith(higher)
    ]
    assert crossing == []


# Modules that import others by names made up at run time, which the rules above cannot see.
IMPORTS_BY_NAME = {"", "paper.experiment", "_core.imported"}


def test_imports_by_name_are_few_and_known():
    found = set()
    for file in PACKAGE.rglob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
        if names & {"import_module", "__import__"}:
            parts = file.relative_to(PACKAGE).with_suffix("").parts
            found.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    assert found == IMPORTS_BY_NAME


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("policies.fewa", "from rotting.play.loop import play"),
        ("policies.fewa", "import rotting.simulation"),
        ("policies.fewa", "def f():\n    from rotting.logs import diagnose"),
        ("policies.fewa", "from rotting import simulate"),
        ("policies.fewa", "import rotting"),
        ("policies.fewa", "from ..simulation import simulate"),
        ("policies.fewa", "from rotting.bandit import Bandit"),
        ("problems.named", "from rotting.policies import Policy"),
        ("problems.named", "from rotting.theory import regret"),
        ("problems.problem", "from rotting.logs import diagnose"),  # only inside a function
        ("_core.compiling", "from rotting.policies import FEWA"),
        ("_core.parameters", "from rotting import policies"),
        ("_output.style", "from rotting.simulation.summary import mean_interval"),
        ("theory.regret", "from rotting.simulation import simulate"),
        ("theory.regret", "from rotting.policies import FEWA"),
        ("simulation.loop", "from rotting.theory import regret"),
        ("simulation.loop", "import rotting.cli"),
        ("bandit.fold", "from rotting.simulation import simulate"),
        ("paper.figures", "from rotting.cli import main"),
        ("paper.figures", "def f():\n    from rotting import cli"),
        ("_output.style", "from .. import cli"),
        ("errors", "from rotting._core import files"),
        ("brand_new", "import json"),  # a part that nobody has listed
    ],
)
def test_the_rules_notice_violations(module, source):
    found = modules()
    found[module] = [*found.get(module, []), *imports(source, module)]
    assert violations(found), f"{module}: {source}"


def test_the_rules_notice_a_back_door():
    """A part that may be imported by many must not lead where they may not go."""
    found = modules()
    found["_output.pages"] = [*found["_output.pages"], ("simulation.summary", True)]
    assert any(problem.startswith("bandit reaches simulation") for problem in violations(found))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("policies.fewa", "from rotting.policies._contract.policy import Policy"),
        ("policies.fewa", "from ._contract.policy import Policy"),
        ("policies.fewa", "import numpy\nfrom rotting.problems.curves import Drop"),
        ("simulation.loop", "def f():\n    from rotting import __version__"),
        ("theory.regret", "from rotting.problems import Problem\nfrom rotting.theory import checks"),
        ("cli", "import rotting.paper.reproduce"),
        ("__main__", "from rotting.cli import main"),
        ("policies.fewa", "# from rotting.simulation import simulate\ntext = 'import rotting.cli'"),
    ],
)
def test_the_rules_allow_what_is_right(module, source):
    found = modules()
    found[module] = [*found.get(module, []), *imports(source, module)]
    assert violations(found) == []
