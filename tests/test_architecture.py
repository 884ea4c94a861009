"""Dependencies point one way: from what users see down to what everything rests on."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import rotting

PACKAGE = Path(rotting.__file__).parent

# What each room may import from, besides itself. Rooms that are not listed may import from all but `cli`.
BOTTOM = {"compiling", "files", "parameters", "randomness", "curves"}
MAY_IMPORT = {
    "files": set(),
    "parameters": set(),
    "compiling": set(),
    "randomness": {"compiling"},
    "curves": {"compiling", "parameters"},
    "policies": BOTTOM,
    "problems": BOTTOM,
    "parsing": BOTTOM | {"policies", "problems"},
    "theory": BOTTOM | {"problems"},
    "simulation": BOTTOM | {"policies", "problems"},
    "sweeps": BOTTOM | {"policies", "problems", "parsing", "simulation", "plots"},
    "bandit": BOTTOM | {"policies", "parsing", "plots"},
    "pages": set(),
    "logs": BOTTOM | {"policies", "problems", "simulation", "theory", "plots", "pages"},
}
# (module, room it imports, why that is all right). All of them inside functions: nothing happens at import time.
EXCEPTIONS = {
    ("problems.problem", "logs"): "Problem.from_log is where users look for it; fitting is the business of logs",
    ("policies.saving", "parsing"): "a saved agent names its policy by its repr, and only parsing can read that",
}
# Only this may be imported from the package itself: any other name there would be a way round these rules.
FROM_THE_TOP = {"__version__"}


def room(module: str) -> str:
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


def modules() -> dict[str, list[tuple[str, bool]]]:
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if package else parts)
        found[name] = imports(file.read_text(), name, package)
    return found


def violations(found: dict[str, list[tuple[str, bool]]]) -> list[str]:
    problems = []
    for module, imported in found.items():
        own = room(module)
        for name, lazy in imported:
            target = room(name)
            if name in FROM_THE_TOP or target == own:
                continue
            if own == "":
                allowed = target != "cli"  # the top only hands names on
            elif own in MAY_IMPORT:
                allowed = target in MAY_IMPORT[own] or (lazy and (module, target) in EXCEPTIONS)
            else:
                allowed = target != "cli" or own == "__main__"
            if not allowed:
                problems.append(f"{module} imports {name or 'rotting'}")
    return problems


def test_dependencies_point_one_way():
    found = modules()
    assert violations(found) == []
    # Every room with rules exists, and files were really read.
    assert set(MAY_IMPORT) <= {room(module) for module in found}
    assert ("policies.kernel", False) in found["policies.agent"]


def test_exceptions_are_still_needed():
    found = modules()
    for module, target in EXCEPTIONS:
        used = [lazy for name, lazy in found[module] if room(name) == target]
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


def known(name: str, found: dict[str, list[tuple[str, bool]]]) -> str:
    """Return the module that a dotted name lies in."""
    while name not in found:
        name = name.rpartition(".")[0]
    return name


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("policies.fewa", "from rotting.simulation.loop import play"),
        ("policies.fewa", "from rotting.problems import Problem"),
        ("policies.fewa", "import rotting.problems.named"),
        ("policies.fewa", "def f():\n    from rotting.parsing import parse_policy"),
        ("policies.fewa", "from rotting import simulate"),
        ("policies.fewa", "import rotting"),
        ("policies.fewa", "from ..simulation import simulate"),
        ("policies.saving", "from rotting.parsing import parse_policy"),
        ("problems.named", "from rotting.policies.base import Policy"),
        ("problems.named", "from rotting.theory import regret"),
        ("curves", "from rotting.policies import FEWA"),
        ("compiling", "from rotting.parameters import Parameters"),
        ("parameters", "from rotting import compiling"),
        ("theory.regret", "from rotting.simulation import simulate"),
        ("theory.regret", "from rotting.policies import FEWA"),
        ("simulation.loop", "from rotting.theory import regret"),
        ("simulation.loop", "import rotting.cli"),
        ("bandit.fold", "from rotting.simulation import simulate"),
        ("policies.fewa", "from rotting.bandit import Bandit"),
        ("paper.figures", "from rotting.cli import main"),
        ("paper.figures", "def f():\n    from rotting import cli"),
        ("plots", "from . import cli"),
        ("", "from rotting.cli import main"),
    ],
)
def test_the_rules_notice_violations(module, source):
    assert violations({module: imports(source, module)}), f"{module}: {source}"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("policies.fewa", "from rotting.policies.base import Policy"),
        ("policies.fewa", "from .base import Policy"),
        ("policies.fewa", "import numpy\nfrom rotting.curves import Drop"),
        ("policies.saving", "def f():\n    from rotting.parsing import parse_policy"),
        ("simulation.loop", "def f():\n    from rotting import __version__"),
        ("theory.regret", "from rotting.problems import Problem\nfrom rotting.theory import checks"),
        ("paper.figures", "from rotting import FEWA, plots"),
        ("cli", "import rotting.paper.figures"),
        ("__main__", "from rotting.cli import main"),
        ("policies.fewa", "# from rotting.simulation import simulate\ntext = 'import rotting.cli'"),
    ],
)
def test_the_rules_allow_what_is_right(module, source):
    assert violations({module: imports(source, module)}) == []
