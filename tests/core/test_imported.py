"""Modules of users: found, read once, executed from their texts, noticed when edited, refused when they shadow."""

import sys

import pytest

from own_modules import write_module
from rotting._core import imported
from rotting.errors import BadValue, PolicyDefinitionError, ProblemDefinitionError
from rotting.policies import parse_policy


def classes(name, prefix):
    return [getattr(sys.modules[name], f"{prefix}{kind}") for kind in ("Policy", "Dynamics", "Noise", "Curve")]


def test_a_file_is_loaded_with_what_it_imports_from_beside_it(tmp_path):
    imported.load(write_module(tmp_path, "own_core_a", "CoreA"))
    policy = parse_policy("CoreAPolicy(width=2)")
    assert imported.is_loaded(type(policy))
    sources = imported.sources_of(classes("own_core_a", "CoreA"))
    assert [source.name for source in sources] == ["own_core_a", "own_core_a_constants"]
    assert sources[0].text == (tmp_path / "own_core_a.py").read_text()
    imported.load(tmp_path / "own_core_a.py")  # once more: nothing is executed again
    assert type(parse_policy("CoreAPolicy")) is type(policy)


def test_a_module_is_found_by_its_name(tmp_path, monkeypatch):
    write_module(tmp_path, "own_core_b", "CoreB")
    with pytest.raises(BadValue, match="imports='own_core_b' is neither a file nor a module"):
        imported.load("own_core_b")
    monkeypatch.syspath_prepend(tmp_path)
    imported.load("own_core_b")
    assert imported.loaded_digest("own_core_b_constants") is not None


@pytest.mark.parametrize("edited", ["own_core_c.py", "own_core_c_constants.py"])
def test_an_edit_is_noticed_wherever_it_is(tmp_path, edited):
    file = write_module(tmp_path, "own_core_c", "CoreC")
    imported.load(file)
    before = parse_policy("CoreCPolicy")
    digests = {source.digest for source in imported.sources_of([type(before)])}
    with open(tmp_path / edited, "a") as changed:
        changed.write(f"\nEDITED = {edited!r}\n")
    imported.load(file)
    after = parse_policy("CoreCPolicy")
    assert not imported.is_loaded(type(before))
    assert imported.is_loaded(type(after))
    assert len(digests & {source.digest for source in imported.sources_of([type(after)])}) == 1


def test_what_needs_an_edited_module_is_executed_again(tmp_path):
    """Loading the helper alone must not leave its user behind with what it was."""
    imported.load(write_module(tmp_path, "own_core_d", "CoreD"))
    write_module(tmp_path, "own_core_d", "CoreD", factor=7.0)
    imported.load(tmp_path / "own_core_d_constants.py")
    assert parse_policy("CoreDPolicy(width=1)").initial_state(1).settings.tolist() == [7.0]


def test_a_package_is_loaded_as_a_whole(tmp_path, monkeypatch):
    package = tmp_path / "own_core_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("from .. import shared\n")
    (package / "shared.py").write_text("VALUE = 3\n")
    (package / "inner" / "part.py").write_text("from ..shared import VALUE\n")
    for given in (package / "inner" / "part.py", "own_core_package.inner.part"):
        monkeypatch.syspath_prepend(tmp_path)
        imported.load(given)
        assert sys.modules["own_core_package.inner.part"].VALUE == 3
        assert imported.loaded_digest("own_core_package.shared") is not None


def test_texts_alone_are_enough(tmp_path):
    """What a worker gets: no file need exist there."""
    sources = [
        imported.Source("own_core_e", "/nowhere/own_core_e.py", "from own_core_f import VALUE\n"),
        imported.Source("own_core_f", "/nowhere/own_core_f.py", "VALUE = 5\n"),
    ]
    imported.load_sources(sources)
    assert sys.modules["own_core_e"].VALUE == 5


@pytest.mark.parametrize(
    ("name", "text", "error", "says"),
    [
        ("json", "", BadValue, "has a name that is Python's own"),
        ("rotting", "", BadValue, "has a name that is this package's"),
        ("numpy", "", BadValue, "has a name that is that of .*numpy"),
        ("own_modules", "", BadValue, "which is imported already"),
        ("own_core_g", "x = 1\ny = 1 / 0", BadValue, "own_core_g.py, line 2: cannot be imported: ZeroDivisionError"),
        ("own_core_exit", "import sys\nsys.exit(0)", BadValue, "line 2: cannot be imported: SystemExit: 0"),
        ("own_core_h", "class A(:", BadValue, "own_core_h.py, line 1: cannot be imported: SyntaxError: invalid syntax"),
        ("own_core_i", "from own_core_nothing import x", BadValue, "ModuleNotFoundError"),
        ("own-core", "", BadValue, "whose name can be imported"),
    ],
)
def test_what_cannot_be_imported_is_refused(tmp_path, name, text, error, says):
    file = tmp_path / f"{name}.py"
    file.write_text(text)
    with pytest.raises(error, match=says):
        imported.load(file)
    assert imported.loaded_digest(name) is None
    if name.startswith("own_core"):
        assert name not in sys.modules


def renamed(tmp_path, module, prefix, old, new):
    file = write_module(tmp_path, module, prefix)
    file.write_text(file.read_text().replace(f"class {prefix}{old}(", f"class {new}("))
    return file


def test_classes_that_shadow_the_packages_are_refused(tmp_path):
    with pytest.raises(PolicyDefinitionError, match=r"rotting\.policies\.ucb1 has a policy of this name"):
        imported.load(renamed(tmp_path, "own_core_j", "CoreJ", "Policy", "UCB1"))
    for kind, taken in (("Dynamics", "Drop"), ("Noise", "Boredom"), ("Curve", "Gaussian")):
        with pytest.raises(ProblemDefinitionError, match="has a curve, dynamics or noise of this name"):
            imported.load(renamed(tmp_path, "own_core_j", "CoreJ", kind, taken))
