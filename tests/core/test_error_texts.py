"""What users wrote reads in messages as they wrote it."""

import pytest

from rotting.errors import BadValue, RottingError, quoted, shown


@pytest.mark.parametrize("name", ["{arm}", "{{arm}}", "{{{arm}}}", "{}", "{a b}", "a}}", "%s"])
def test_names_are_not_taken_for_references(name):
    error = RottingError(f"there is no {quoted(name)}", hint=f"did you mean {quoted(name)}? see {{arm}}")
    assert str(error) == f"there is no {name!r}; did you mean {name!r}? see arm="
    assert error.text(lambda argument: f"--{argument}").endswith("see --arm")


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


def test_values_that_cannot_be_printed():
    assert shown(10**5000) == "<int>"
    assert str(BadValue("is out of range", name="n", value=Unprintable())) == "n=<Unprintable> is out of range"
