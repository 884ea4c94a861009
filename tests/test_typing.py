"""What a user's type checker sees: the installed package is typed, and a small program of a user checks."""

import ast
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rotting
from rotting._public import public_names
from rotting.policies import Policy

ROOT = Path(__file__).parents[1]
PROGRAM = Path(__file__).parent / "data" / "users_program.py"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder into which the wheel was installed."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", "dist", "."], cwd=folder, check=True)
    [wheel] = (folder / "dist").glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", "site", str(wheel)], cwd=folder, check=True)
    return folder / "site"


def test_the_wheel_brings_its_types(installed):
    assert (installed / "rotting" / "py.typed").exists()
    assert (installed / "rotting" / "__init__.pyi").exists()


def test_the_wheel_brings_everything_else_and_one_version(installed):
    own = {file.relative_to(ROOT / "src") for file in (ROOT / "src" / "rotting").rglob("*") if file.is_file()}
    assert {str(file) for file in own if "__pycache__" not in file.parts and not (installed / file).exists()} == set()
    [metadata] = installed.glob("rotting-*.dist-info/METADATA")
    assert f"\nVersion: {rotting.__version__}\n" in metadata.read_text()


MISTAKES = 'import rotting\n\nrotting.FEWA(alpha="much")\nrotting.simulate(3, "ten_arm()")\n'


@pytest.fixture(scope="module")
def said(installed, tmp_path_factory):
    """Return what mypy says of a user's program and of one with mistakes: at once, as reading the package is slow."""
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed: users' programs are not type-checked")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM.read_text())
    (folder / "mistakes.py").write_text(MISTAKES)
    (folder / "mypy.ini").write_text(
        f"[mypy]\nstrict = true\nmypy_path = {installed}\n"
        "[mypy-numba.*,scipy.*,pandas.*,matplotlib.*]\nignore_missing_imports = true\nfollow_imports = skip\n"
        "[mypy-rotting.*]\nfollow_imports = silent\n"
    )
    command = [sys.executable, "-m", "mypy", "--no-incremental", "program.py", "mistakes.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False).stdout


def test_a_users_program_checks(said):
    assert "in 1 file (checked 2 source files)" in said, said  # the one with mistakes
    assert "program.py" not in said


def test_a_users_mistake_is_found(said):
    assert 'mistakes.py:3: error: Argument "alpha" to "FEWA"' in said
    assert "mistakes.py:4: error: Argument" in said


def test_a_users_program_runs(monkeypatch, capsys):
    monkeypatch.setattr(Policy, "known", dict(Policy.known))
    runpy.run_path(str(PROGRAM))
    assert capsys.readouterr().out == ""  # it prints errors only


def test_every_public_name_is_found_and_listed_once():
    names = public_names()
    assert set(rotting.__all__) == set(names)
    for name in names:
        assert getattr(rotting, name) is not None
    tree = ast.parse((Path(rotting.__file__).parent / "__init__.pyi").read_text())
    listed = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert len(listed) == len(set(listed))
