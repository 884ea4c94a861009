"""The API: decisions, exposures, rewards, bandits, arms, reports, logs."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence

import msgspec
from starlette.responses import Response, StreamingResponse

from rotting import bandit as library
from rotting.bandit import (
    BadSettings,
    Bandit,
    Choice,
    LogRow,
    SettingsConflict,
    Shown,
    StorageError,
    UnknownArm,
    warm_up,
)
from rotting.errors import RottingError, quoted
from rotting.policies import parse_policy
from rotting.serve import requests as bodies
from rotting.serve.access import check_bandit
from rotting.serve.errors import Busy
from rotting.serve.problems import JSON, problem_of
from rotting.serve.requests import BanditName, Decision, encode
from rotting.serve.routing import Request, checked, route
from rotting.serve.writer import Writer

BANDIT, DECISION = "/v1/bandits/{bandit}", "/v1/decisions/{decision}"
DECISIONS = f"{BANDIT}/decisions"
LARGEST_PAGE = 1000  # events
_KINDS = {"json": JSON, "csv": "text/csv", "jsonl": "application/x-ndjson"}
_ONE = bodies.Decide()


@route("POST", DECISIONS, "client", 201, 200, example={"n": 1}, takes_key=True, here=True)
async def decide(request: Request, bandit: BanditName, body: bodies.Decide = _ONE) -> tuple[int, bodies.Decisions]:
    """Decide which arm to show."""
    wanted = library.Decide(int(body.n), body.among, request.only_header(b"idempotency-key"))
    try:
        return 201, bodies.Decisions(decisions=await request.service.ask(bandit, wanted))
    except (StorageError, Busy) as error:
        if body.fallback is None:
            raise
        request.service.refused(error, DECISIONS)
        instead = Choice("", body.fallback, f"fallback: {problem_of(error).detail}", None)
        return 200, bodies.Decisions(decisions=[instead] * int(body.n))


@route("POST", f"{DECISION}/shown", "client", 204, here=True)
async def shown(request: Request, decision: Decision) -> None:
    """Log that a decision was shown."""
    await _report(request, Shown(decision))


@route("PUT", f"{DECISION}/reward", "client", 201, 200, example={"value": 1.0}, here=True)
async def reward(request: Request, decision: Decision, body: bodies.Reward) -> tuple[int, bodies.Accepted]:
    """Log the reward of a decision."""
    new = await _report(request, library.Reward(decision, body.value))
    return 201 if new else 200, bodies.Accepted(new=new)


async def _report(request: Request, event: Shown | library.Reward) -> bool:
    """Log what became of a decision; say whether that is new."""
    bandit = await _bandit_of(request, event.decision)
    return bool(await request.service.ask(bandit, event))


async def _bandit_of(request: Request, decision: str) -> str:
    """Return the bandit that took a decision, if it is for the key of the request."""
    found = await request.service.directory.entry_of(decision)
    check_bandit(request.key, found.name)
    return found.name


@route(
    "POST", "/v1/events", "client",
    example={"events": [{"kind": "reward", "decision": "ID", "value": 1.0}]}, described_body=bodies.Events, here=True,
)  # fmt: skip
async def events(request: Request, body: bodies.UncheckedEvents) -> bodies.Results:
    """Log many exposures and rewards."""
    outcomes: list[object] = [None] * len(body.events)
    waiting: dict[str, dict[int, Shown | library.Reward]] = {}
    for place, unchecked in enumerate(body.events):
        try:
            event = checked(bodies.Event, unchecked)
            is_shown, bandit = isinstance(event, bodies.ShownEvent), await _bandit_of(request, event.decision)
            wanted = Shown(event.decision) if is_shown else library.Reward(event.decision, event.value)
            waiting.setdefault(bandit, {})[place] = wanted
        except RottingError as error:
            outcomes[place] = error
    for bandit, group in waiting.items():
        found = await request.service.exchange(bandit, list(group.values()))
        for place, outcome in zip(group, found, strict=True):
            outcomes[place] = outcome
    return bodies.Results(results=[_result(each) for each in outcomes])


def _result(outcome: object) -> bodies.Result:
    if isinstance(outcome, RottingError):
        return bodies.Result(status="refused", problem=problem_of(outcome))
    return bodies.Result(status="new" if outcome else "known")


# Bandits and arms.


@route("GET", "/v1/bandits", "reader")
async def list_bandits(request: Request) -> bodies.Bandits:
    """List the bandits."""
    return bodies.Bandits(bandits=await request.service.names(request.key))


@route("GET", BANDIT, "reader")
async def show_bandit(request: Request, bandit: BanditName) -> bodies.BanditReply:
    """Show a bandit and its settings."""
    await request.service.directory.entry(bandit)
    found = await request.service.call(bandit, Bandit.standing)
    arms = [bodies.Arm(arm=arm, available=available) for arm, available in found.available.items()]
    settings = found.settings.to_dict()
    return bodies.BanditReply(bandit=bandit, policy=found.policy, arms=arms, events=found.events, settings=settings)


_NEW = {"arms": ["red", "green"], "policy": "EffFEWA(sigma=0.5)"}


@route("PUT", BANDIT, "admin", 201, 200, example=_NEW)
async def make_bandit(request: Request, bandit: BanditName, body: bodies.NewBandit) -> tuple[int, bodies.BanditReply]:
    """Make a bandit; again with the same arms and settings, nothing changes."""
    service, settings = request.service, msgspec.to_builtins(body)
    arms, policy = settings.pop("arms"), parse_policy(settings.pop("policy", body.policy))

    def make() -> None:
        warm_up(policy)  # not in the thread that writes, which must not wait for a compiler
        try:
            with Bandit.open(service.options.url, bandit, policy, arms, **settings) as opened:
                there = sorted(opened.arms)
        except UnknownArm:
            there = []
        except SettingsConflict as error:
            error.hint = "leave it out, or change it: PATCH this address"
            raise
        if there != sorted(arms):
            hint = "give those that it has, or change them: PATCH .../arms"
            raise SettingsConflict(f"differ from those of bandit {quoted(bandit)}", name="arms", value=arms, hint=hint)

    async with service.making:
        await service.directory.refresh(at_once=True)
        is_new = bandit not in service.directory.by_name
        await service.in_thread(make)
        await service.made()
    return 201 if is_new else 200, await show_bandit(request, bandit)


@route("PATCH", f"{BANDIT}/arms", "admin", example={"add": ["blue"], "retire": ["red"]})
async def change_arms(request: Request, bandit: BanditName, body: bodies.ArmChanges) -> bodies.BanditReply:
    """Add, retire and restore arms."""
    await change(request.service, bandit, body)
    return await show_bandit(request, bandit)


async def change(service: Writer, bandit: str, changes: bodies.ArmChanges) -> None:
    """Change the arms of a bandit. What must be learnt for new ones is learnt beside the thread that writes."""
    await service.with_own(bandit, lambda opened: opened.change_arms(**msgspec.to_builtins(changes)))
    service.follower.want(bandit)
    service.shared.forget()


@route("PATCH", BANDIT, "admin", example={"epsilon": 0.05})
async def change_settings(request: Request, bandit: BanditName, body: bodies.Settings) -> bodies.BanditReply:
    """Change settings of a bandit."""
    given = msgspec.to_builtins(body)
    if "policy" in given:
        given["policy"] = parse_policy(given["policy"])
    await request.service.with_own(bandit, lambda opened: opened.change(**given))
    return await show_bandit(request, bandit)


# Reading.


@route("GET", f"{BANDIT}/report", "reader", here=True)
async def report(request: Request, bandit: BanditName) -> bodies.Report:
    """Say how the arms are doing."""
    found = await request.service.with_own(bandit, Bandit.report)
    return msgspec.convert(found, bodies.Report, from_attributes=True)


@route("GET", f"{BANDIT}/events", "reader", kinds=tuple(_KINDS.values()), here=True)
async def log(request: Request, bandit: BanditName, query: bodies.LogQuery) -> bodies.LogPage | Response:
    """Read the log: a page of it as JSON, or all of the rest as lines."""
    service, is_page = request.service, query.format == "json"
    await service.directory.entry(bandit)
    given = msgspec.to_builtins(query)
    after, limit = given.get("after"), given.get("limit")
    size = min(limit or LARGEST_PAGE, LARGEST_PAGE)
    replays = given.get("replays")
    if is_page and replays is not None:  # each page would replay the log from its beginning
        raise BadSettings("is for all of the log", name="replays", value=replays, expected="format csv or jsonl")
    portions = _portions(service.options.url, bandit, after, size if is_page else limit, replays)
    first = await service.in_thread(lambda: next(portions, []))  # what cannot be read is refused now, ...
    if is_page:
        following = first[-1].seq if len(first) == size else None
        return bodies.LogPage(events=[bodies.LoggedEvent(*row) for row in first], next=following)
    is_csv = query.format == "csv"
    rows = itertools.chain([[LogRow._fields, *first] if is_csv else first], portions)  # ... not in the middle
    return StreamingResponse(map(_as_csv if is_csv else _as_lines, rows), media_type=_KINDS[query.format])


def _portions(url: str, name: str, after: int | None, limit: int | None, replays: int | None) -> Iterator[list[LogRow]]:
    """Yield a log in portions, each read in a transaction of its own: a slow reader keeps nobody waiting."""
    with Bandit.open(url, name) as bandit:
        yield from bandit.rows(after=after, limit=limit, size=LARGEST_PAGE, replays=replays)


def _as_csv(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    for row in rows:
        writer.writerow(encode(cell).decode() if isinstance(cell, list) else cell for cell in row)
    return text.getvalue().encode()


def _as_lines(rows: Sequence[Sequence[object]]) -> bytes:
    return b"".join(encode(bodies.LoggedEvent(*row)) + b"\n" for row in rows)
