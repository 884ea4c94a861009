"""The examples of README and docs/: what they are, and how each shell command is run on a machine without a cluster.

A page is run from top to bottom, in a folder of its own that holds the files its examples speak of. Commands are run as
they stand, except that sizes are smaller and servers listen on a free port. What cannot be run is listed with the
reason; everything else is run, and fails the test if it fails.
"""

import re
import shlex
import sqlite3
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)(?: (\w+)=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# What cannot be run here, by what a command contains, and why.
NOT_RUN = {
    "pip install": "the package is installed already; `make release-check` tries every extra",
    "-m venv": "the tests have an environment",
    "/activate": "the tests have an environment",
    "make ": "a target of the Makefile, which CI runs",
    "git ": "needs a clone with history",
    "dask ": "needs several machines",
    "tcp://scheduler": "needs several machines",
    "--device cuda": "needs an NVIDIA GPU: `make test-gpu`",
    "docker ": "needs Docker",
    "--meet ": "needs several machines and a PostgreSQL: tests/serve/test_hosts.py",
}


class Block(NamedTuple):
    """A block of code on a page."""

    language: str
    key: str  # "file" (written, not run) or "run" (tested elsewhere), or ""
    value: str
    text: str


def blocks(page):
    """Return the code blocks of a page, in order."""
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def commands(text):
    """Return the commands of a shell block, without comments, with continued lines joined."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    found = (re.sub(r"\s+#.*", "", line).strip() for line in lines)
    return [line for line in found if line and not line.startswith("#")]


def reason_not_to_run(command):
    """Return why a command is not run here, or None if it is."""
    return next((reason for part, reason in NOT_RUN.items() if part in command), None)


def is_server(command):
    """Whether a command serves until it is stopped."""
    return command.startswith("rotting serve") and "serve keys" not in command and "--help" not in command


def smaller(command):
    """Return a command with fewer runs, and with dates that fit the logs of these tests."""
    few = re.sub(r"--runs \d+", "--runs 4", command)
    if " --after " in few:  # both within the log that `prepare` writes
        few = re.sub(r"--before \S+ --after \S+", "--before 2024-03-12 --after 2024-03-16", few)
    else:
        few = re.sub(r"--before \S+", "--before 2100-01-01", few)
    if re.match(r"rotting (paper|tune)", few) and "--runs" not in few:
        few += " --runs 4"
    return few


def arguments(command):
    """Return the arguments of a `rotting` command, or None for other programs."""
    words = shlex.split(re.sub(r"[>|].*", "", command))
    return words[1:] if words and words[0] == "rotting" else None


def prepare(folder):
    """Write the files that the examples speak of."""
    from rotting.logs import make_log

    for page in PAGES:  # files that one page shows are spoken of on others
        for block in blocks(page):
            if block.key == "file":
                (folder / block.value).write_text(block.text)
    names = {"timestamp": "shown_at", "creative": "creative_id", "click": "clicked"}
    log = make_log(arms=3, exposures=300, start=0.2, end=0.05, seed=1).rename(columns=names)
    log.to_csv(folder / "clicks.csv", index=False)
    log.to_csv(folder / "log.csv", index=False)
    log.assign(propensity=1 / 3).to_csv(folder / "shown.csv", index=False)
    (folder / "exports").mkdir()
    for number, part in enumerate((log[: len(log) // 2], log[len(log) // 2 :])):
        part.to_csv(folder / "exports" / f"{number}.csv", index=False)
    with sqlite3.connect(folder / "campaign.db") as database:
        log.astype({"shown_at": str}).to_sql("impressions", database, index=False)
    database.close()
    counts = log.assign(Day=log["shown_at"].dt.date).groupby(["Day", "creative_id"])["clicked"]
    daily = counts.agg(["size", "sum"]).reset_index().set_axis(["Day", "Ad ID", "Impr.", "Clicks"], axis=1)
    daily.assign(Cost=1.5).to_csv(folder / "Ad report.csv", index=False)
    daily.set_axis(["Day", "Subject", "Sent", "Opens"], axis=1).to_excel(folder / "mails.xlsx", index=False)
    export = daily.assign(Day=[day.strftime("%d/%m/%Y") for day in daily["Day"]])
    export.to_csv(folder / "export.csv", index=False, sep=";")
