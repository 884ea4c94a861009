"""README and docs/ as a reader meets them: Python blocks run, commands have the options they are given, links lead on.

`make docs` builds the site, and runs every shell example (tests/test_site.py).
"""

import re
import sys
from pathlib import Path

import pytest
import typer

from documented import PAGES, ROOT, arguments, blocks, commands

IDS = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.filterwarnings("error::rotting.errors.PolicyMismatch")  # nobody is to learn from a bad example
@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python" and block.key == "file":
            Path(block.value).write_text(block.text)
            sys.modules.pop(Path(block.value).stem, None)
        elif block.language == "python":
            exec(compile(block.text, page.name, "exec"), names)
    capsys.readouterr()


def test_readme_shows_both_commands_and_ten_lines():
    text = (ROOT / "README.md").read_text()
    assert "make paper" in text
    assert "make test" in text
    code = next(block.text for block in blocks(ROOT / "README.md") if block.language == "python")
    assert len([line for line in code.splitlines() if line.strip()]) == 10


def parse(given):
    """Let the command line read arguments, and run nothing."""
    from rotting.cli import app

    command, context, rest = typer.main.get_command(app), None, list(given)
    name = "rotting"
    while True:
        context = command.make_context(name, rest, parent=context)
        if not hasattr(command, "commands"):
            return
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_have_the_options_they_are_given(page):
    for block in blocks(page):
        for line in commands(block.text) if block.language == "sh" and not block.key else []:
            given = arguments(line)
            if given is None or "--help" in given:
                continue
            try:
                parse(given)
            except Exception as error:
                raise AssertionError(f"{line}: {error}") from error


def test_an_option_that_does_not_exist_is_noticed():
    with pytest.raises(Exception, match="--rounds-and-rounds"):
        parse(["compare", "FEWA()", "--rounds-and-rounds", "3"])
    with pytest.raises(Exception, match=r"(?i)no such"):
        parse(["contrast", "FEWA()"])


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation_and_every_part_in_the_reference():
    from rotting._public import public_names

    text = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"[\w/-]+\.md$", text, re.MULTILINE))
    assert {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]} <= listed
    described = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    parts = {name for name, module in public_names().items() if module == f"rotting.{name}"}
    assert {name for name in parts if f"::: rotting.{name}\n" not in described} == set()
