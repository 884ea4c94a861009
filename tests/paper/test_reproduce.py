"""The paper in one command: what is played, kept, written, and the same every time."""

import dataclasses
import json

import pytest

from rotting.paper import ALL_NAMES, BEYOND, MODULES, NAMES, reproduce, store
from rotting.paper.reproduce import EXPERIMENTS, Settings, jobs
from rotting.paper.two_arm import DROPS, PLAYED, published


def play(folder, **settings):
    """Reproduce into a folder; return how often each experiment was played anew."""
    played = []

    def watch(job, rounds):
        played.append((job.experiment, job.block.key, rounds))

    return reproduce.reproduce(folder, Settings(**settings), watch), played


def csvs(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


def test_sizes_are_the_papers():
    sizes = {experiment.name: (experiment.runs, len(experiment.blocks)) for experiment in EXPERIMENTS}
    assert sizes["fig1"] == (500, 30)
    assert sizes["fig2"][0] == 500
    assert sizes["appendix"] == (1000, 2)
    paper = [experiment for experiment in EXPERIMENTS if experiment.name in MODULES]
    assert {block.problem.horizon for experiment in paper for block in experiment.blocks} == {5000, 10_000, 25_000}


def test_the_list_of_experiments_calls_them_by_their_names():
    assert [experiment.name for experiment in EXPERIMENTS] == [*MODULES, *BEYOND]
    assert NAMES == ("fig1", "fig2", "table1", "appendix", "policies", "theory", "claims")


def test_each_block_is_played_once():
    every = [(job.experiment, job.block.key) for job in jobs(Settings())]
    assert len(every) == len(set(every))
    assert {name for name, _ in every} == set(NAMES) - {"table1", "claims"}
    assert [job.experiment for job in jobs(Settings(only=("appendix",)))] == ["appendix"] * 2
    assert {job.experiment for job in jobs(Settings(only=("table1",)))} == {"fig2"}
    assert {job.experiment for job in jobs(Settings(only=("claims",)))} == {"fig1", "fig2", "appendix", "theory"}
    assert [job.experiment for job in jobs(Settings(only=("restless",)))] == ["restless"] * 2
    assert {job.experiment for job in jobs(Settings(only=ALL_NAMES))} == {*MODULES, *BEYOND} - {"table1"}


def test_everything_is_written(small, folder):
    pictures = ("fig1", "fig2", "table1", "appendix", "policies", "theory")
    tables = ("fig1_left", "fig1_middle", "fig1_right", "fig2_left", "fig2_right", "appendix_left", "appendix_right")
    for name in pictures:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    for name in (*tables, "policies", "theory", "theory_pulls", "claims"):
        assert (folder / f"{name}.csv").stat().st_size > 100
    written = json.loads((folder / "claims.json").read_text())
    assert (written["settings"]["seed"], written["settings"]["runs"]) == (0, 3)
    claims = written["claims"]
    assert len(claims) >= 14
    assert {claim["verdict"] for claim in claims} <= {"holds", "fails", "differs"}
    assert all(claim["words"] and claim["why"] and claim["measure"] for claim in claims)
    times = json.loads((folder / "times.json").read_text())
    assert all(seconds > 0 for seconds in times["seconds_per_run"].values())


def test_what_is_beyond_the_paper_is_judged_when_it_is_played(tmp_path):
    result, _ = play(tmp_path, only=("boredom",), runs=2)
    assert [judgement.name for judgement in result.judgements] == [
        "boredom-values",
        "linucrl-optimal",
        "linucrl-beats-greedy",
    ]
    assert result.judgements[0].verdict == "holds"
    assert {path.name for path in tmp_path.glob("boredom*")} == {
        "boredom.png",
        "boredom.pdf",
        "boredom.csv",
        "boredom_cycles.csv",
    }


def test_data_open_with_xarray(small, folder):
    import xarray

    with xarray.open_dataset(folder / "data" / "fig1" / "L=0.233.nc") as dataset:
        assert dataset["regret"].sizes == {"policy": 8, "run": 3, "round": 100}
        assert list(dataset["policy"].values) == list(PLAYED)


def test_published_values():
    assert len(published()["FEWA 0.06"]) == len(DROPS) == 30
    assert published()["wSWA 0.02"][11] == 182.9
    assert str(published()["wSWA 0.2"][-1]) == "nan"


def test_same_seed_same_bytes_whatever_the_threads(tmp_path):
    settings = {"only": ("appendix", "policies"), "runs": 2}
    for name, threads in (("one", 1), ("two", 8)):  # with 8, figures and verdicts are made by processes
        play(tmp_path / name, threads=threads, **settings)
    play(tmp_path / "other", seed=1, **settings)
    assert csvs(tmp_path / "one") == csvs(tmp_path / "two")
    assert csvs(tmp_path / "one") != csvs(tmp_path / "other")


def test_it_goes_on_where_it_was_interrupted(small, folder, tmp_path):
    def watch(job, rounds):
        if job.experiment == "theory":
            raise KeyboardInterrupt

    settings = Settings(only=("appendix", "theory"), runs=3)
    with pytest.raises(KeyboardInterrupt):
        reproduce.reproduce(tmp_path, settings, watch)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nc")}
    assert 0 < len(kept) < len(jobs(settings))
    _, played = play(tmp_path, only=settings.only, runs=3)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # not played again
    assert csvs(tmp_path) == {name: csvs(folder)[name] for name in csvs(tmp_path)}
    assert sum(rounds for *_, rounds in played) == sum(job.work for job in jobs(settings))


def test_any_seed_can_be_kept(tmp_path):
    play(tmp_path, only=("appendix",), runs=1, seed=2**63)
    first = csvs(tmp_path)
    _, played = play(tmp_path, only=("appendix",), runs=1, seed=2**63)
    assert csvs(tmp_path) == first
    assert len(played) == 2  # nothing was played: each block is announced once


@pytest.mark.parametrize(
    "other", [{"noise": "none"}, {"restless": True}, {"allow_increasing": True}, {"sigma": 2.0}, {"horizon": 7}]
)
def test_whatever_determines_a_block_changes_its_digest(other):
    block = EXPERIMENTS[0].blocks[0]
    changed = dataclasses.replace(block, problem=dataclasses.replace(block.problem, **other))
    assert store.settings_of(changed, 3, 0) != store.settings_of(block, 3, 0)


def test_a_damaged_or_other_block_is_not_used(small, folder, tmp_path):
    block = EXPERIMENTS[0].blocks[0]
    good = store.file_of(folder / "data", "fig1", block)
    digest = store.settings_of(block, 3, 0)
    assert store.load(good, digest) is not None
    assert store.load(good, store.settings_of(block, 3, 1)) is None
    assert store.load(good, store.settings_of(block, 4, 0)) is None
    assert store.load(tmp_path / "missing.nc", digest) is None
    content = good.read_bytes()
    for name, damaged in (
        ("empty", b""),
        ("half", content[: len(content) // 2]),
        ("tampered", content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]),
        ("renamed", content.replace(b"policy", b"polizy", 1)),
        ("something else", b"not a file of ours" * 100),
    ):
        (tmp_path / name).write_bytes(damaged)
        assert store.load(tmp_path / name, digest) is None, name
