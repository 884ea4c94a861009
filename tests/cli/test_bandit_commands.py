"""`rotting bandit ...` from the user's side of it."""

import json
import subprocess
import sys

import pandas
import pytest

from rotting import Bandit, cli

URL = "sqlite:///bandits.db"


@pytest.fixture
def run(run):
    """Return a function that runs a command for a bandit, in an empty folder."""
    return lambda command, *arguments: run("bandit", command, URL, "hero", *arguments)


@pytest.fixture
def played(run):
    """Return the same, with a bandit that has a past."""
    assert run("init", "--arm", "red", "--arm", "green", "--policy", "FEWA(sigma=0.1)")[0] == 0
    with Bandit.open(URL, "hero") as bandit:
        for place in range(30):
            choice = bandit.decide()
            bandit.reward(choice.id, 0.9 - 0.01 * place if choice.arm == "red" else 0.2)
    return run


def test_help_waits_for_nothing_slow():
    code = (
        "import sys\n"
        "from rotting.cli import main\n"
        "try: main(['bandit', 'decide', '--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'numba', 'psycopg', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported {slow}' if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_a_driver_it_says_what_to_install():
    code = "import sys\nsys.modules['psycopg'] = None\nfrom rotting.cli import main\nmain(sys.argv[1:])"
    command = [sys.executable, "-c", code, "bandit", "decide", "postgresql://nowhere/x", "hero"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'rotting[sql]'" in done.stderr


def test_a_bandit_from_the_shell(run):
    code, out, err = run("init", "--arm", "red", "--arm", "green", "--epsilon", "0.1", "--reward-wait", "60")
    assert (code, err) == (0, "")
    assert out == "Bandit 'hero' with 2 arms decides with EffFEWA(alpha=0.06, sigma=0.5).\n"
    assert run("init", "--arm", "red", "--arm", "green", "--epsilon", "0.1") == (code, out, err)  # changes nothing

    code, out, _ = run("decide", "--n", "3", "--among", "green")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[1] for row in rows] == ["green"] * 3

    assert run("reward", rows[0][0], "-0.5") == (0, "1 new, 0 known already.\n", "")
    with open("rewards.csv", "w") as file:
        file.write(
            "decision,reward\n" + "".join(f"{row[0]},{value}\n" for row, value in zip(rows, [-0.5, 1, 0], strict=True))
        )
    assert run("reward", "--file", "rewards.csv") == (0, "2 new, 1 known already.\n", "")

    out = run("arms", "--add", "blue", "--retire", "red")[1]
    assert [line.split() for line in out.splitlines()[3:-1]] == [["red", "retired"], ["green", "yes"], ["blue", "yes"]]
    assert "retired" not in run("arms", "--restore", "red")[1]
    assert run("verify") == (0, "All is well: 11 events, 3 decisions, 3 rewards.\n", "")


def test_report(played, tmp_path):
    code, out, err = played("report", "--json", "report.json", "--plot", "report.png")
    assert (code, err) == (0, "")
    assert "dropped by window" in out
    content = json.loads((tmp_path / "report.json").read_text())
    red, green = content["arms"]
    assert (red["active"], green["active"]) == (True, False)
    assert red["shows"] + green["shows"] == 30
    assert red["wear_start"] > red["wear_now"] > green["wear_now"] == pytest.approx(0.2)
    assert red["means"]["10"] < red["means"]["all"]
    assert red["means"]["1000"] is None
    assert (tmp_path / "report.png").stat().st_size > 10_000


def test_report_on_a_bandit_that_never_decided_and_on_one_without_filter(run):
    run("init", "--arm", "red", "--policy", "UCB1()")
    assert run("report", "--plot", "empty.png")[0] == 0
    with Bandit.open(URL, "hero") as bandit:
        bandit.reward(bandit.decide().id, 1.0)
        assert bandit.report().arms[0].active is None
    assert run("report")[0] == 0


def test_init_takes_every_setting(run):
    assert (
        run(
            "init",
            "--arm",
            "red",
            "--arm",
            "green",
            *["--holdout", "0.1", "--control", "red", "--reward-range", "0:2"],
            *[
                "--min-exposures",
                "5",
                "--max-exposures",
                "red=100",
                "--max-exposures",
                "green=50",
                "--exposure-period",
                "3600",
            ],
        )[0]
        == 0
    )
    with Bandit.open(URL, "hero") as bandit:
        settings = bandit._state.settings
    assert (settings.holdout, settings.control, settings.reward_range) == (0.1, "red", (0.0, 2.0))
    assert (settings.min_exposures, settings.exposure_period) == (5, 3600.0)
    assert settings.max_exposures == {"red": 100, "green": 50}
    assert run("init", "--arm", "red", "--arm", "blue")[0] == 2
    assert run("init", "--arm", "red", "--arm", "blue", "--update-arms")[0] == 0


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
def test_export(played, tmp_path, name):

    assert played("export", name) == (0, f"Wrote {name}: 62 events\n", "")
    read = pandas.read_csv if name.endswith("csv") else lambda file: pandas.read_json(file, lines=True)
    frame, expected = read(tmp_path / name), Bandit.open(URL, "hero").history()
    assert frame["decision"].fillna("").tolist() == expected["decision"].fillna("").tolist()
    assert frame["reward"].dropna().tolist() == pytest.approx(expected["reward"].dropna().tolist(), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("decide", "--n", "0"), "--n '0': expected a whole number >= 1"),
        (("decide", "--among", "mauve"), "no arm 'mauve'"),
        (("reward", "nonsense", "1"), "took no decision 'nonsense'"),
        (("reward", "nonsense", "much"), "reward 'much' is not a number"),
        (("reward", "nonsense", "nan"), "reward=nan is not a finite number"),
        (("reward",), "either a decision and its reward, or --file"),
        (("reward", "nonsense"), "either a decision and its reward, or --file"),
        (("reward", "--file", "nowhere.csv"), "cannot be read: No such file"),
        (("reward", "--file", "bandits.db"), "--file 'bandits.db'"),
        (("arms", "--add", "red"), "already has an arm 'red'"),
        (("arms", "--retire", "mauve"), "no arm 'mauve'"),
        (("arms", "--add", "mauve", "--retire", "nope"), "no arm 'nope'"),
        (("export", "log.txt"), "expected .csv or .jsonl"),
        (("export", "no/such/folder.csv"), "there is no folder"),
        (("report", "--plot", "report.txt"), "expected .png"),
        (("report", "--plot", "x.png", "--json", "x.png"), "--plot and --json name the same file"),
        (("report", "--plot", "x.png", "--json", "./x.png"), "--plot and --json name the same file"),
        (("init", "--arm", "red", "--arm", "red"), "arm 'red' is given twice"),
        (("init", "--arm", "red", "--default-reward", "0"), "--default-reward 0.0 is never used without --reward-wait"),
        (("init", "--arm", "red", "--epsilon", "2"), "--epsilon 2.0 is out of range"),
        (("init", "--arm", "red", "--sigma", "0.5"), "--sigma 0.5: expected 'auto'"),
        (("decide", "--n", "2000000"), "--n 2000000 is out of range; expected a whole number >= 1 and <= 1000000"),
        (
            ("init", "--arm", "red", "--policy", "FEWA(sigma=0.2)"),
            "which bandit 'hero' has; leave --policy out, or change it",
        ),
        (("init", "--arm", "red", "--policy", "Fewa("), "policy 'Fewa(' cannot be read"),
        (("init", "--arm", "red", "--epsilon", "lots"), "--epsilon 'lots': expected a number"),
        (("init",), "--arm is missing; expected one for each arm, or --warm-start with a log"),
        (("init", "--warm-start", "nowhere.csv"), "log 'nowhere.csv': cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_complaints(played, arguments, words):
    with Bandit.open(URL, "hero") as bandit:
        before = len(bandit.history())
        code, out, err = played(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("Error: ")
        assert err.count("\n") == 1
        assert words in err
        assert len(bandit.history()) == before


def test_a_bandit_that_is_not_there(run, capsys):
    complaint = "Error: there is no database 'sqlite:///bandits.db'; make it with: rotting bandit init\n"
    assert run("verify") == (2, "", complaint)
    run("init", "--arm", "red")
    with Bandit.open(URL, "hero"), pytest.raises(SystemExit):
        cli.main(["bandit", "report", URL, "heroine"])
    assert capsys.readouterr().err == (
        "Error: there is no bandit 'heroine', only 'hero'; make it with: rotting bandit init\n"
    )


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_report_does_not_overwrite_the_database(played, option, tmp_path):
    (tmp_path / "bandits.db").rename(tmp_path / "bandits.png")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bandit", "report", "sqlite:///bandits.png", "hero", option, "bandits.png"])
    assert stopped.value.code == 2
    with Bandit.open("sqlite:///bandits.png", "hero") as bandit:
        assert bandit.verify().decisions == 30


# After the first day.


def test_change(played):
    assert played("change", "--epsilon", "0.1", "--sigma", "0.3") == (0, "Changed policy, epsilon.\n", "")
    assert played("change", "--epsilon", "0.1") == (0, "It is so already.\n", "")
    options = ["--reward-wait", "60", "--default-reward", "0", "--reward-range", "-1:1", "--holdout", "0.2"]
    options += ["--control", "red", "--min-exposures", "5", "--max-exposures", "red=100", "--max-exposures", "green=90"]
    assert played("change", *options)[0] == 0
    with Bandit.open(URL, "hero") as bandit:
        settings = bandit.settings
        assert (settings.reward_wait, settings.default_reward, settings.reward_range) == (60.0, 0.0, (-1.0, 1.0))
        assert (settings.holdout, settings.control, settings.min_exposures) == (0.2, "red", 5)
        assert settings.max_exposures == {"red": 100, "green": 90}
        bandit.decide(5)
        bandit.verify()
    assert "holdout (20.00% of decisions)" in played("report")[1]
    assert played("change", "--control", "none", "--max-exposures", "none", "--reward-range", "none")[0] == 0
    with Bandit.open(URL, "hero") as bandit:
        assert (bandit.settings.control, bandit.settings.max_exposures) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("change",), "nothing to change"),
        (("change", "--epsilon", "2"), "--epsilon 2.0 is out of range"),
        (("change", "--reward-range", "1"), "--reward-range '1': expected LOW:HIGH"),
        (("change", "--max-exposures", "many"), "--max-exposures 'many': expected a whole number"),
        (("change", "--max-exposures", "mauve=3"), "no arm 'mauve'"),
        (("history", "--since", "noon"), "--since 'noon' is not a time"),
        (("compact", "log.txt", "--before", "2100-01-01"), "ends in '.txt'"),
        (("compact", "log.csv", "--before", "1999-01-01"), "--before '1999-01-01' leaves nothing to compact"),
        (("export", "log.csv", "--arm", "mauve"), "no arm 'mauve'"),
    ],
)
def test_complaints_about_changes(played, arguments, words):
    code, out, err = played(*arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_history_and_compact(played, tmp_path):
    shown = played("history", "--last", "3", "--arm", "red")[1]
    assert shown.count("red") == 3
    code, out, _ = played("compact", "log.parquet", "--before", "2100-01-01")
    assert (code, out) == (0, "Compacted 62 events, up to event 62; they are in log.parquet.\n")
    assert played("verify")[1].startswith("All is well from event 63 on")
    assert "exists; give the name of a new file" in played("compact", "log.parquet", "--before", "2100-01-01")[2]


def test_a_report_on_standard_output_is_json_and_nothing_else(played, tmp_path):
    code, out, err = played("report", "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["bandit"] == "hero"
    assert not (tmp_path / "-").exists()


def test_delete_asks_first(played, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert "Nothing was deleted." in played("delete")[1]
    assert played("delete", "--yes")[:2] == (0, "Deleted bandit 'hero' after 62 events.\n")
    assert "no bandit 'hero'" in played("delete", "--yes")[2]


def test_segments(played, capsys):
    from rotting import EffFEWA
    from rotting.bandit import Segments

    def run(command, *arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["bandit", command, URL, "push/{country}", *arguments])
        return stopped.value.code, *capsys.readouterr()

    with Segments.open(URL, "push/{country}", EffFEWA(sigma=0.5), ["red", "green"]) as segments:
        for country in ("de", "fr"):
            segments.reward(segments.decide(country=country).id, 1.0)
    assert run("change", "--epsilon", "0.5") == (0, "Changed 2 of 2 segments.\n", "")
    code, out, _ = run("segments")
    assert code == 0
    assert "push/de" in out
    assert "2 segments of push/{country}" in out
    assert json.loads(run("segments", "--json", "-")[1])["totals"]["red"]["rewards"] == 2


def test_a_bandit_begins_with_a_log(run, tmp_path):
    names = ['it\'s "red"', "bl\u00e5 & $HOME"]
    log = tmp_path / "my log.csv"
    arms = [names[place % 2] for place in range(80)]
    pandas.DataFrame({"time": range(80), "arm": arms, "reward": [0, 1, 1, 0] * 20}).to_csv(log, index=False)
    code, out, err = run("init", "--warm-start", str(log))
    assert (code, err) == (0, "")
    assert "with 2 arms" in out
    assert "It knows 80 rewards of other origin." in out
    with Bandit.open(URL, "hero") as bandit:
        assert sorted(bandit.arms) == sorted(names)
        assert any("my log.csv" in text for text in bandit.history()["details"].dropna())
        assert bandit.verify().rewards == 80
