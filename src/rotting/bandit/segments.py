"""Segments: many bandits of one template, made on first use, in one database over one connection.

The template is itself a bandit, named by the template's text. It takes no decisions: its settings and arms are those
that a new segment begins with, and its log says when they were changed.
"""

from __future__ import annotations

import dataclasses
import heapq
import json
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

from rotting._core.validation import whole_number
from rotting.bandit.bandit import Bandit
from rotting.bandit.core.checking import good_arms, good_name, name_list
from rotting.bandit.core.requests import Choice
from rotting.bandit.core.settings import BanditSettings, SettingsChange, SettingsGiven
from rotting.bandit.errors import BadName, BadSettings, SettingsConflict, UnknownBandit, UnknownDecision
from rotting.bandit.log.warming import Imported, WarmStart
from rotting.bandit.opening import NewBandit, open_if_there, open_on
from rotting.errors import quoted
from rotting.policies import Policy

if TYPE_CHECKING:
    from rotting.bandit.report.reporting import Report

LARGEST_CACHE = 1000  # segments whose state is kept in memory; others are opened again when they are used
MOST_SIBLINGS = 16  # that a new segment learns from: the newest ones
_ARGUMENTS = {"self", "n", "among"}  # of `Segments.decide`: no fields
_FIELD = re.compile(r"\{([a-z_][a-z0-9_]*)\}")


class Template:
    """A text with fields in braces.

    >>> template = Template("homepage/{country}/{device}")
    >>> template.name_of({"country": "de", "device": "phone"})
    'homepage/de/phone'
    >>> template.values_of("homepage/de/phone")
    {'country': 'de', 'device': 'phone'}
    """

    def __init__(self, text: object):
        self.text = good_name("template", text)
        self.fields = _FIELD.findall(self.text)
        if not self.fields or len({*self.fields, *_ARGUMENTS}) < len(self.fields) + len(_ARGUMENTS):
            raise BadName(
                f"template {quoted(text)} has no fields, or one of them twice, or one that is called like an argument "
                "of `decide`",
                value=text,
                expected="for example 'homepage/{{country}}/{{device}}'",
            )
        parts = _FIELD.split(self.text)
        pattern = (f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
        self._pattern = re.compile("".join(pattern))
        self.prefix = parts[0]

    def name_of(self, values: Mapping[str, object]) -> str:
        """Return the name of a segment's bandit."""
        if set(values) != set(self.fields):
            raise BadSettings(
                f"a segment of {quoted(self.text)} is given by {', '.join(self.fields)}", value=dict(values)
            )
        texts = {field: str(value) for field, value in values.items()}
        name = good_name("segment", _FIELD.sub(lambda match: texts[match[1]], self.text))
        if self.values_of(name) != texts:
            raise BadName(
                f"segment {quoted(name)} could be another one of {quoted(self.text)} as well",
                value=texts,
                expected="values without what separates the fields",
            )
        return name

    def values_of(self, name: str) -> dict[str, str] | None:
        """Return the values of a segment's fields; None if the name is not one of this template."""
        match = self._pattern.fullmatch(name)
        return match.groupdict() if match and name != self.text else None


def _template_in(settings: str) -> object:
    """Return the template that a bandit was made from, None without one. What cannot be read, opening it says."""
    try:
        return dict(json.loads(settings)).get("template") if "template" in settings else None
    except (TypeError, ValueError, RecursionError):
        return None


@dataclasses.dataclass(frozen=True)
class SegmentsReport:
    """How the arms are doing in each segment. `totals` has for each arm its shows, rewards and mean in all of them."""

    template: str
    segments: dict[str, Report]
    totals: dict[str, dict[str, Any]]

    def to_dict(self) -> dict[str, object]:
        """Return plain data, without the rewards."""
        reports = {name: report.to_dict() for name, report in self.segments.items()}
        return {"template": self.template, "totals": self.totals, "segments": reports}


class Segments:
    """Bandits of one template; made and opened by `Segments.open`.

    Examples
    --------
    >>> import tempfile
    >>> from rotting import EffFEWA
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/fatigue.db"
    >>> segments = Segments.open(url, "homepage/{country}", EffFEWA(sigma=0.5), ["red", "green"])
    >>> choice = segments.decide(country="de")
    >>> segments.reward(choice.id, 1.0)
    True
    >>> segments.bandit(country="fr").arms
    {'red': True, 'green': True}
    >>> segments.names()
    ['homepage/de', 'homepage/fr']
    """

    def __init__(self, template: Template, head: Bandit, siblings: int):
        self.template = template
        self.head = head  # the bandit that is the template
        self._siblings = siblings
        self._open: OrderedDict[str, Bandit] = OrderedDict()
        self._lock = threading.RLock()  # of what is open

    @classmethod
    def open(
        cls,
        url: str,
        template: str,
        policy: Policy | None = None,
        arms: Iterable[str] | None = None,
        *,
        siblings: int = 0,
        **settings: Unpack[SettingsGiven],
    ) -> Segments:
        """Open the segments of a template, or make the template if there is none.

        Parameters
        ----------
        url, policy, arms, settings
            As in `Bandit.open`: those of the template, with which every new segment begins. Each segment has a seed of
            its own, which follows from the template's and its name.
        template
            The name of each bandit, with fields in braces: "homepage/{country}/{device}".
        siblings
            So many rewards of each arm (0) a new segment learns from others before its first decision: the latest
            ones of the 16 newest segments, in the order in which they came. They are imported rewards (see
            `Bandit.warm_start`). Its own rewards fill the short windows first, so that what siblings know matters the
            less the more it has.
        """
        head = Bandit.open(url, Template(template).text, policy, arms, **settings)
        return cls(Template(template), head, whole_number("siblings", siblings, 0))

    # One segment.

    def bandit(self, **values: object) -> Bandit:
        """Return the bandit of a segment, made if there is none. All share one connection: closing one closes all."""
        return self._bandit(self.template.name_of(values), make=True)

    @overload
    def decide(self, n: None = None, among: Iterable[str] | None = None, **values: object) -> Choice: ...

    @overload
    def decide(self, n: int, among: Iterable[str] | None = None, **values: object) -> list[Choice]: ...

    def decide(
        self, n: int | None = None, among: Iterable[str] | None = None, **values: object
    ) -> Choice | list[Choice]:
        """Choose an arm for somebody in a segment: `segments.decide(country="de", device="phone")`."""
        return self.bandit(**values).decide(n, among)

    def reward(self, decision: str, value: float) -> bool:
        """Log the reward of a decision of any segment; see `Bandit.reward`."""
        return self._of_decision(decision).reward(decision, value)

    def shown(self, decision: str) -> bool:
        """Log that a decision of any segment has really been shown; see `Bandit.shown`."""
        return self._of_decision(decision).shown(decision)

    def _of_decision(self, decision: object) -> Bandit:
        token = decision.partition("-")[0] if isinstance(decision, str) else ""
        with self._lock:
            for bandit in self._open.values():
                if bandit._log.token == token:
                    return bandit
        with self.head._log.reading() as stored:
            found = stored.store.find(token=token)
        if found is not None and _template_in(found.settings) == self.template.text:
            return self._bandit(found.name)
        raise UnknownDecision(
            f"no segment of {quoted(self.template.text)} took the decision {quoted(decision)}", value=decision
        )

    # All of them.

    def names(self) -> list[str]:
        """Return the names of all segments that there are."""
        return sorted(self._made())

    def _made(self) -> list[str]:
        """Return the names of all segments, the newest first."""
        with self.head._log.reading() as stored:
            rows = stored.store.bandits(self.template.prefix)
        return [row.name for row in rows[::-1] if _template_in(row.settings) == self.template.text]

    def change(self, **settings: Unpack[SettingsChange]) -> int:
        """Change settings of the template, and so of new segments, and of every segment; returns how many had others.

        Every segment is changed in a transaction of its own: called again, it goes on where it was interrupted.
        """
        self.head.change(**settings)
        return sum(bool(self._bandit(name).change(**settings)) for name in self.names())

    def change_arms(self, *, add: Iterable[str] = (), retire: Iterable[str] = (), restore: Iterable[str] = ()) -> int:
        """Add, retire and restore arms of the template and of every segment, where it is not so already.

        Returns how many segments it changed. Called again, it goes on where it was interrupted.
        """
        new, old, back = good_arms("add", add), name_list("retire", retire), name_list("restore", restore)

        def change(bandit: Bandit, every: bool) -> int:
            known = bandit.arms
            return bandit.change_arms(
                add=[arm for arm in new if arm not in known],
                retire=[arm for arm in old if every or arm in known],
                restore=[arm for arm in back if every or arm in known],
            )

        change(self.head, every=True)  # an arm that the template does not have is refused
        return sum(change(self._bandit(name), every=False) > 0 for name in self.names())

    def report(self, progress: Callable[[int, int], None] | None = None) -> SegmentsReport:
        """Return how the arms are doing in every segment, and in all of them together."""
        names, reports = self.names(), dict[str, "Report"]()
        totals: dict[str, dict[str, Any]] = {}
        for done, name in enumerate(names, start=1):
            report = reports[name] = self._bandit(name).report()
            for arm in report.arms:
                total = totals.setdefault(arm.arm, {"shows": 0, "rewards": 0, "mean": 0.0})
                total["shows"] += arm.shows
                total["rewards"] += arm.rewards
                total["mean"] += float(report.values[arm.arm].sum())
            if progress is not None:
                progress(done, len(names))
        for total in totals.values():
            total["mean"] = total["mean"] / total["rewards"] if total["rewards"] else None
        return SegmentsReport(self.template.text, reports, totals)

    def close(self) -> None:
        """Close the connection; see `Bandit.close`."""
        self.head.close()

    def __enter__(self) -> Segments:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Opening and making bandits.

    def _bandit(self, name: str, make: bool = False) -> Bandit:
        """Return a segment's bandit, opened on the connection that all share."""
        with self._lock:
            if name not in self._open:
                self._open[name] = self._opened(name, make)
                while len(self._open) > LARGEST_CACHE:
                    self._open.popitem(last=False)
            self._open.move_to_end(name)
            return self._open[name]

    def _opened(self, name: str, make: bool) -> Bandit:
        commits = self.head._log.commits
        log = open_if_there(commits, name)
        if log is None and not make:
            raise UnknownBandit(f"there is no segment {quoted(name)}", value=name)
        if log is None:
            arms = [arm for arm, is_available in self.head.arms.items() if is_available]
            warm = self._known_to_siblings(arms) if self._siblings else None
            log = open_on(commits, NewBandit(name, self._settings(name), arms, warm, self.template.text))
        if log.template != self.template.text:
            raise SettingsConflict(
                f"bandit {quoted(name)} exists, and was not made as a segment of {quoted(self.template.text)}",
                value=name,
                hint="use another template, or open the bandit by its name",
            )
        return Bandit(log)

    def _settings(self, name: str) -> BanditSettings:
        settings = self.head.settings
        return dataclasses.replace(settings, seed=(settings.seed + zlib.crc32(name.encode())) % 2**32)

    def _known_to_siblings(self, arms: list[str]) -> WarmStart | None:
        """Return the latest rewards of each arm in the newest segments, in the order in which they came."""
        names = self._made()[:MOST_SIBLINGS]
        found: dict[str, list[tuple[float, Imported]]] = {arm: [] for arm in arms}
        for name in names:
            log = self._bandit(name)._log
            with log.reading() as stored:
                known = log.state.names
                for at, arm, value in stored.store.latest_rewards(log.bandit_id, self._siblings * len(known)):
                    if known[arm] in found:
                        found[known[arm]].append((at, Imported(known[arm], value, at)))
        latest = [each for some in found.values() for each in heapq.nlargest(self._siblings, some)]
        rewards = [imported for _, imported in sorted(latest, key=lambda each: each[0])]
        return WarmStart(f"{len(names)} segments of {self.template.text}", rewards) if rewards else None
