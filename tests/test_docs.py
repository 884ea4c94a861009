"""Every Python block of the README and the docs runs, in order, as a reader would paste it."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python(?: file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names = {"__name__": "__main__"}
    for file, code in BLOCK.findall(page.read_text()):
        if file:
            Path(file).write_text(code)
            sys.modules.pop(Path(file).stem, None)
        else:
            exec(compile(code, f"{page.name}", "exec"), names)
    capsys.readouterr()


def test_readme_shows_both_commands_and_ten_lines():
    text = (ROOT / "README.md").read_text()
    assert "make paper" in text
    assert "make test" in text
    (_, code), *_ = BLOCK.findall(text)
    assert len([line for line in code.splitlines() if line.strip()]) == 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
