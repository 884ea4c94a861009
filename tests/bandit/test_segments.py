"""Many bandits of one template, in one database and over one connection."""

from collections import Counter

import pytest
import sqlalchemy

from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit import BadName, BadSettings, Segments, SettingsConflict, UnknownArm, UnknownDecision, segments
from rotting.bandit.store.connection import Connected

COLOURS = ["red", "green", "blue"]
WORTH = {"red": 0.9, "green": 0.5, "blue": 0.1}
PLACES = "homepage/{country}/{device}"


def play(made, rounds, **values):
    for _ in range(rounds):
        choice = made.decide(**values)
        made.reward(choice.id, WORTH[choice.arm])


def test_segments_are_made_on_first_use_and_go_on(url):
    with Segments.open(url, PLACES, EffFEWA(sigma=0.3), COLOURS, epsilon=0.1) as made:
        assert made.names() == []
        play(made, 5, country="de", device="phone")
        play(made, 7, country="fr", device="phone")
        assert made.names() == ["homepage/de/phone", "homepage/fr/phone"]
        assert len(made.decide(4, among=["red"], country="de", device="phone")) == 4
    with Segments.open(url, PLACES) as made:
        play(made, 5, country="de", device="phone")
        bandit = made.bandit(country="de", device="phone")
        assert bandit.verify().decisions == 14
        assert bandit.settings.epsilon == 0.1
        assert bandit.settings.seed != made.bandit(country="fr", device="phone").settings.seed
        assert made.head.verify().decisions == 0
    with Bandit.open(url, "homepage/fr/phone") as bandit:
        assert bandit.verify().decisions == 7


def test_they_share_one_connection_and_forget_what_is_not_used(postgres, monkeypatch):
    monkeypatch.setattr(segments, "LARGEST_CACHE", 5)
    query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%rotting_%%' AND pid <> pg_backend_pid()"
    engine = sqlalchemy.create_engine(postgres)
    with engine.connect() as connection:
        others = connection.exec_driver_sql(query).scalar()  # of tests before this one
    with Segments.open(postgres, "user {number}", EffFEWA(sigma=0.3), COLOURS) as made:
        choices = [made.decide(number=number) for number in range(20)]
        assert len(made._open) == 5
        for choice in choices:  # of segments that are no longer in memory, too
            assert made.reward(choice.id, 0.5)
        with engine.connect() as connection:
            assert connection.exec_driver_sql(query).scalar() <= others + 1
        engine.dispose()
        assert len(made.names()) == 20


def test_they_are_changed_and_reported_together(url):
    with Segments.open(url, "push/{country}", FEWA(sigma=0.1), COLOURS) as made:
        for country, rounds in (("de", 20), ("fr", 10), ("it", 0)):
            made.bandit(country=country)
            play(made, rounds, country=country)
        assert made.change(epsilon=0.2) == 3
        assert made.change(epsilon=0.2) == 0
        assert made.change_arms(add=["purple"], retire=["blue"]) == 3
        made.bandit(country="de").restore_arm("blue")
        assert made.change_arms(add=["purple"], retire=["blue"]) == 1
        with pytest.raises(UnknownArm):
            made.change_arms(retire=["mauve"])
        new = made.bandit(country="es")
        assert new.settings.epsilon == 0.2
        assert new.arms == {"red": True, "green": True, "purple": True}
        report = made.report()
        assert set(report.segments) == {f"push/{country}" for country in ("de", "es", "fr", "it")}
        assert report.totals["red"]["mean"] == pytest.approx(0.9)
        assert sum(total["rewards"] for total in report.totals.values()) == 30
        assert report.totals["purple"] == {"shows": 0, "rewards": 0, "mean": None}
        for country in ("de", "es", "fr"):
            made.bandit(country=country).verify()


def test_a_new_segment_begins_with_what_its_siblings_know(url):
    with Segments.open(url, "push/{country}", FEWA(sigma=0.05), COLOURS, siblings=20) as made:
        play(made, 60, country="de")
        play(made, 60, country="fr")
        log = made.bandit(country="it").history()
        imported = log[log["kind"] == "imported"]
        counts = Counter(imported["arm"])
        assert counts["red"] == 20
        assert max(counts.values()) == 20
        assert imported["happened"].is_monotonic_increasing
        assert set(imported["reward"]) == {WORTH[arm] for arm in counts}
        assert '"source": "2 segments of push/{country}"' in log["details"].dropna().iloc[0]
        late = made.bandit(country="fr").history().query("kind == 'rewarded' and arm == 'red'")["at"].max()
        assert imported.query("arm == 'red'")["happened"].max() == late
        assert {made.decide(country="it").arm for _ in range(5)} == {"red"}  # nothing is left to try
        made.bandit(country="it").verify()
        again = made.bandit(country="es").history()  # what was imported is not handed on
        assert Counter(again[again["kind"] == "imported"]["arm"])["red"] <= 20


@pytest.mark.parametrize(
    ("template", "words"),
    [("homepage", "no fields"), ("{a}/{a}", "one of them twice"), ("{n}", "like an argument"), ("", "0 characters")],
)
def test_what_is_no_template_is_refused(sqlite, template, words):
    with pytest.raises(BadName, match=words):
        Segments.open(sqlite, template, EffFEWA(), COLOURS)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"country": "de"}, BadSettings, "given by country, device"),
        ({"country": "de", "device": "phone", "age": 3}, BadSettings, "given by country, device"),
        ({"country": "de/by", "device": "phone"}, BadName, "could be another one"),
        ({"country": "", "device": "phone"}, BadName, "could be another one"),
        ({"country": "{country}", "device": "{device}"}, BadName, "could be another one"),
        ({"country": "a\nb", "device": "phone"}, BadName, "cannot be seen"),
    ],
)
def test_what_is_no_segment_is_refused_and_not_made(sqlite, values, error, words):
    with Segments.open(sqlite, PLACES, EffFEWA(), COLOURS) as made:
        with pytest.raises(error, match=words):
            made.decide(**values)
        assert made.names() == []


def test_decisions_of_others_are_refused(sqlite):
    own = Bandit.open(sqlite, "hero", EffFEWA(), COLOURS)
    with own, Segments.open(sqlite, PLACES, EffFEWA(), COLOURS) as made:
        for decision in (own.decide().id, "nonsense", 5):
            with pytest.raises(UnknownDecision):
                made.reward(decision, 1.0)


def test_bandits_that_only_have_such_a_name_are_left_alone(sqlite):
    policy = EffFEWA(sigma=0.3)
    with (
        Bandit.open(sqlite, "home/prod", policy, ["A", "B"]) as plain,
        Segments.open(sqlite, "home/{country}", policy, COLOURS) as made,
        Segments.open(sqlite, "home/{country}/{device}", policy, COLOURS) as others,
    ):
        foreign = [plain.decide(), others.decide(country="de", device="phone")]
        made.bandit(country="fr")
        for country in ("prod", "de/phone"):
            with pytest.raises(SettingsConflict, match="not made as a segment"):
                made.decide(country=country)
        for choice in foreign:
            for call in (lambda id=choice.id: made.reward(id, 1.0), lambda id=choice.id: made.shown(id)):
                with pytest.raises(UnknownDecision):
                    call()
        assert made.change(epsilon=0.5) == 1
        assert made.change_arms(add=["purple"]) == 1
        assert list(made.report().segments) == made.names() == ["home/fr"]
        assert others.names() == ["home/de/phone"]
        for bandit in (plain, others.bandit(country="de", device="phone")):
            assert bandit.settings.epsilon == 0.0
            assert len(bandit.arms) < 4


@pytest.mark.soak
def test_two_thousand_segments_need_one_connection(url, monkeypatch):
    connect, connections = Connected._connect, set()

    def noted(database, deadline):
        made = connect(database, deadline)
        connections.add(id(database.driver))
        return made

    monkeypatch.setattr(Connected, "_connect", noted)
    with Segments.open(url, "home/{user}", EffFEWA(sigma=0.3), COLOURS, siblings=2) as made:
        choices = [made.decide(user=number) for number in range(2000)]
        for choice in choices:
            assert made.reward(choice.id, WORTH[choice.arm]) is True
        assert len(made._open) == segments.LARGEST_CACHE
        assert made.change_arms(add=["purple"]) == 2000
        assert len(made.names()) == 2000
        report = made.report()
        assert sum(total["shows"] for total in report.totals.values()) == 2000
        assert made.bandit(user=7).verify().decisions == 1
    assert len(connections) == 1
