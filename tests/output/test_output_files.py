"""Tables, objects and figures: what is in the files, and that a failure leaves the old ones."""

import json

import pytest

from rotting._output import files, style


def test_csv(tmp_path):
    rows = [{"name": "a, b", "value": 1 / 3, "count": 2}, {"name": "ä", "value": float("nan"), "count": None}]
    files.write_csv(tmp_path / "a.csv", rows)
    assert (tmp_path / "a.csv").read_bytes().decode() == 'name,value,count\n"a, b",0.33333333,2\nä,,\n'


def test_json(tmp_path):
    files.write_json(tmp_path / "a.json", {"ä": [1, None]})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"ä": [1, None]}
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(tmp_path / "a.json", {"x": float("nan")})
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    assert "ä" in (tmp_path / "a.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.PDF", b"%PDF"), ("a.svg", b"<?xml")])
def test_figures(tmp_path, name, start):
    files.write_figure(tmp_path / name, style.new_figure(2, 2))
    assert (tmp_path / name).read_bytes().startswith(start)
