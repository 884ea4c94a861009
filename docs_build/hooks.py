"""What the site does beyond MkDocs: formulas, pages that live elsewhere, and lists made from the package itself.

The pages are plain Markdown that reads well on GitHub, too; nothing in them is for this tool only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "docs_build"), str(ROOT / "src")]

from commands import every_command  # noqa: E402
from mathematics import to_mathml  # noqa: E402
from names import every_name, every_policy  # noqa: E402

# Files of the repository that are pages of the site.
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
# Pages whose last part is made from the package itself.
COMPLETED = {"gallery.md": every_policy, "reference/index.md": every_name, "reference/commands.md": every_command}
REPORT = ROOT / "results" / "paper" / "report.html"
FENCE = re.compile(r"^```(\w+) (\w+)=(\S+)$", re.MULTILINE)
MATH_FENCE = re.compile(r"^( *)```math\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE_MATH = re.compile(r"\$`([^`]+)`\$")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made, or live outside docs/."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    if REPORT.exists():  # made by `make paper`
        files.append(File.generated(config, "report/paper.html", abs_src_path=str(REPORT)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn what GitHub reads into what Python-Markdown reads."""
    for source, target in PAGES.items():
        markdown = re.sub(rf"\]\((?P<up>(\.\./)*)\.\./{re.escape(source)}", rf"](\g<up>{target}", markdown)
    markdown = FENCE.sub(_fence, markdown)
    markdown = MATH_FENCE.sub(lambda found: found[1] + to_mathml(found[2], block=True), markdown)
    if page.file.src_uri in COMPLETED:
        markdown += COMPLETED[page.file.src_uri]()
    if page.file.src_uri == "paper.md" and REPORT.exists():
        markdown += (
            "\n## The whole report\n\n[Every figure, table and claim](report/paper.html), as `make paper` wrote it.\n"
        )
    return INLINE_MATH.sub(lambda found: to_mathml(found[1]), markdown)


def _fence(found: re.Match[str]) -> str:
    """Keep the language of a code block; a file's name becomes its title, what the tests read goes."""
    language, key, value = found.groups()
    return f'```{language} title="{value}"' if key == "file" else f"```{language}"
