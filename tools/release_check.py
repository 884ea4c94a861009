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
# What must work once an extra is installed; "" is the package alone. The GPU's (cuda) cannot be tried without one.
TRIALS = {
    "": "import rotting; print(rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(horizon=50), runs=2).sizes)",
    "dask": "import rotting, distributed; from rotting.sweeps import Plan",
    "sql": (
        "from rotting import Bandit, EffFEWA; b = Bandit.open('sqlite:///x.db', 'x', EffFEWA(sigma=0.5), ['a', 'b']);"
        " b.reward(b.decide().id, 1.0); print(b.verify())"
    ),
    "logs": "import rotting; print(rotting.diagnose(rotting.logs.make_log(arms=2, exposures=100)).verdict)",
    "arrow": "import rotting, pyarrow",
    "serve": "from rotting.serve.app import Service; import rotting.serve.running; import rotting.serve.page",
    "gym": "import gymnasium, rotting.gym; gymnasium.make('rotting/TenArm-v0').reset(seed=1)",
    "river": "from rotting.river import RiverPolicy; print(RiverPolicy().pull(['a', 'b']))",
    "traces": "import rotting, zarr",
}
COMMANDS = (["--version"], ["policies"], ["serve", "--help"])
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
    if "dev" not in version and not re.search(rf"^## \[{re.escape(version)}\]", changelog, re.MULTILINE):
        wrong.append(f"CHANGELOG.md has no heading [{version}]")
    return wrong


def _belongs(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts and not file.name.startswith(".")


def try_extra(wheel: Path, extra: str) -> float:
    """Install the wheel with an extra into an empty environment and use it; return the seconds of the installation."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "venv", folder)
        python = next(
            path for path in (Path(folder) / "bin/python", Path(folder) / "Scripts/python.exe") if path.exists()
        )
        began = time.perf_counter()
        wanted = f"rotting[{extra}] @ {wheel.resolve().as_uri()}" if extra else str(wheel)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted)
        seconds = time.perf_counter() - began
        run(python, "-I", "-c", TRIALS[extra], cwd=folder)
        if extra in ("", "serve"):
            for command in COMMANDS[: 2 if extra == "" else 3]:
                run(python, "-m", "rotting", *command, cwd=folder)
        return seconds


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
    options.add_argument("--extra", action="append", choices=list(TRIALS), help="only these (default: all)")
    chosen = options.parse_args().extra
    source = (ROOT / "src" / "rotting" / "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    sdist, wheel = build()
    wrong = check_contents(sdist, wheel, version)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{sdist.name} and {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) are complete")
    for extra in chosen if chosen is not None else TRIALS:
        seconds = try_extra(wheel, extra)
        print(f"rotting{f'[{extra}]' if extra else ''}: installed in {seconds:.0f} s, works", flush=True)


if __name__ == "__main__":
    main()
