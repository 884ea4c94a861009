"""Builds the sdist and the wheel, looks into them, and tries the wheel with each extra in an empty environment.

`make release-check` runs it. It needs a package index. Nothing is published.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# The programs of tools/trials/, and the extras that each is for. They are run with -I: none is to be taken for
# the library it is named after.
TRIALS = {
    "alone": "",
    "dask": "dask",
    "sql": "sql",
    "logs": "logs",
    "arrow": "arrow,sql",
    "serve": "serve",
    "gym": "gym",
    "river": "river",
    "traces": "traces",
    "cuda": "cuda",
}
NEEDED = ("rotting/py.typed", "rotting/__init__.pyi", "rotting/paper/data/", "rotting/serve/page/")


def build() -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist; return both."""
    for old in DIST.glob("rotting-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.glob("rotting-*"))
    [sdist], [wheel] = DIST.glob("rotting-*.tar.gz"), DIST.glob("rotting-*.whl")
    return sdist, wheel


def check_contents(sdist: Path, wheel: Path, version: str) -> list[str]:
    """Return what is missing in the files, or should not be in them."""
    packed = zipfile.ZipFile(wheel).namelist()
    with tarfile.open(sdist) as archive:
        sources = [name.partition("/")[2] for name in archive.getnames()]
    own = [str(file.relative_to(ROOT / "src")) for file in (ROOT / "src" / "rotting").rglob("*") if _belongs(file)]
    wrong = [f"{file.name} is not version {version}" for file in (sdist, wheel) if f"-{version}" not in file.name]
    wrong += [f"the wheel lacks {name}" for name in own if name not in packed]
    wrong += [f"the wheel lacks {name}" for name in NEEDED if not any(one.startswith(name) for one in packed)]
    wrong += [f"the wheel has {name}" for name in packed if "__pycache__" in name or name.startswith("tests/")]
    wrong += [f"the sdist lacks src/{name}" for name in own if f"src/{name}" not in sources]
    wrong += [f"the sdist lacks {name}" for name in ("README.md", "CHANGELOG.md", "LICENSE") if name not in sources]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if "dev" not in version and not re.search(rf"^## \[{re.escape(version)}\] - \d", changelog, re.MULTILINE):
        wrong.append(f"CHANGELOG.md has no heading [{version}] with a date")
    return wrong


def _belongs(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts and not file.name.startswith(".")


def try_extra(wheel: Path, trial: str) -> tuple[float, float]:
    """Install the wheel with an extra into an empty environment and use it; return the seconds of both."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "venv", folder)
        python = next(
            path for path in (Path(folder) / "bin/python", Path(folder) / "Scripts/python.exe") if path.exists()
        )
        began = time.perf_counter()
        extra = TRIALS[trial]
        wanted = f"rotting[{extra}] @ {wheel.resolve().as_uri()}" if extra else str(wheel)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted)
        installed = time.perf_counter()
        for command in ("--version", "--help"):
            run(python, "-I", "-m", "rotting", command, cwd=folder)
        run(python, "-I", ROOT / "tools" / "trials" / f"{trial}.py", cwd=folder)
        return installed - began, time.perf_counter() - installed


def run(*command: object, cwd: object = None) -> None:
    """Run a command; its output is shown if it fails."""
    words = [str(word) for word in command]
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # the wheel, not the sources
    ended = subprocess.run(words, cwd=cwd or ROOT, env=outside, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{ended.stdout}\n{ended.stderr}")


def main() -> None:
    """Build, check and try."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", choices=list(TRIALS), help="only these (default: all)")
    chosen = options.parse_args().only
    source = (ROOT / "src" / "rotting" / "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    sdist, wheel = build()
    wrong = check_contents(sdist, wheel, version)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{sdist.name} and {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) are complete")
    for trial in chosen if chosen is not None else TRIALS:
        installing, using = try_extra(wheel, trial)
        name = f"rotting[{TRIALS[trial]}]" if TRIALS[trial] else "rotting"
        print(f"{name}: installed in {installing:.0f} s, tried in {using:.0f} s", flush=True)


if __name__ == "__main__":
    main()
