"""Functions that exist inside of other compiled functions only."""

import re
from pathlib import Path

import numba

import rotting
from rotting._core.linking import _LinkedLibrary, linked


def successor(x):
    """Return the number after x."""
    return x + 1


def printed(x):
    """Print x and return it."""
    print("x is", x)
    return x


def libraries(function):
    """Return what a function was compiled into, one for each signature."""
    return [compiled.library for compiled in function.overloads.values()]


def test_a_function_of_the_package_gets_no_machine_code_of_its_own(monkeypatch):
    monkeypatch.setattr(successor, "__module__", "rotting.pretended")
    inner = linked(successor, nogil=True)
    outer = numba.njit(lambda x: 2 * inner(x))
    assert outer(3) == 8
    assert [type(library) for library in libraries(inner)] == [_LinkedLibrary]
    assert libraries(inner)[0].get_pointer_to_function(successor.__name__) == 0


def test_python_may_call_it_too(monkeypatch):
    monkeypatch.setattr(successor, "__module__", "rotting.pretended")
    inner = linked(successor, nogil=True)
    outer = numba.njit(lambda x: 2 * inner(x))
    assert (inner(3), outer(3), inner(3), inner(0.5)) == (4, 8, 4, 1.5)


def test_a_function_of_a_user_may_print(capsys):
    inner = linked(printed)
    outer = numba.njit(lambda x: inner(x))
    assert outer(3) == 3
    assert capsys.readouterr().out == "x is 3\n"
    assert not isinstance(libraries(inner)[0], _LinkedLibrary)


def test_nobody_hands_these_options_to_njit():
    """What njit returns would crash when Python calls it."""
    wrong = re.compile(r"jit\([^\n]*\*\*\(?(INLINED|LINKED)")
    files = sorted(Path(rotting.__file__).parent.rglob("*.py"))
    assert [file.name for file in files if wrong.search(file.read_text())] == ["linking.py"]
