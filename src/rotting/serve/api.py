"""The API: decisions, exposures, rewards, bandits, arms, reports, logs."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import to_builtins
from starlette.responses import StreamingResponse

from rotting.bandit import (
    Bandit,
    BanditError,
    Choice,
    Decide,
    LogRow,
    Outcome,
    Request,
    Reward,
    SettingsConflict,
    Shown,
    UnknownArm,
    warm_up,
)
from rotting.errors import RottingError, quoted
from rotting.policies import parse_policy
from rotting.serve import requests as bodies
from rotting.serve.access import check_bandit
from rotting.serve.problems import problem_of
from rotting.serve.requests import encode
from rotting.serve.routing import JSON, Route, checked
from rotting.serve.routing import Request as HttpRequest

if TYPE_CHECKING:
    from rotting.serve.app import Service

LARGEST_PAGE = 1000  # events
Result = TypeVar("Result")


async def decide(service: Service, request: HttpRequest) -> bodies.Decisions:
    """Decide which arm to show."""
    body = request.decoded(bodies.Decide)
    among = None if body.among is None else tuple(body.among)
    wanted = Decide(int(body.n), among, request.only_header(b"idempotency-key"))
    return bodies.Decisions(decisions=await choices(service, request.params["bandit"], wanted))


async def choices(service: Service, bandit: str, wanted: Decide) -> list[Choice]:
    """Return decisions of a bandit, once they are durable."""
    await service.entry(bandit)
    (outcome,) = await service.writer.exchange(bandit, (wanted,))
    if isinstance(outcome, BanditError):
        raise outcome
    assert isinstance(outcome, list)
    return outcome


async def shown(service: Service, request: HttpRequest) -> None:
    """Log that a decision was shown."""
    await _report(service, request, Shown(request.params["decision"]))


async def reward(service: Service, request: HttpRequest) -> tuple[int, bodies.Accepted]:
    """Log the reward of a decision."""
    value = request.decoded(bodies.Reward).value
    new = bool(await _report(service, request, Reward(request.params["decision"], value)))
    return HTTPStatus.CREATED if new else HTTPStatus.OK, bodies.Accepted(new=new)


async def _report(service: Service, request: HttpRequest, outcome: Shown | Reward) -> Outcome:
    entry = await service.entry_of(outcome.decision)
    check_bandit(request.key, entry.name)
    (result,) = await service.writer.exchange(entry.name, (outcome,))
    if isinstance(result, BanditError):
        raise result
    return result


async def events(service: Service, request: HttpRequest) -> bodies.Results:
    """Log many exposures and rewards."""
    given = request.decoded(bodies.UncheckedEvents).events
    results: list[object] = [None] * len(given)
    waiting: dict[str, dict[int, Request]] = {}
    for place, unchecked in enumerate(given):
        try:
            event = checked(bodies.Event, unchecked)
            entry = await service.entry_of(event.decision)
            check_bandit(request.key, entry.name)
            is_shown = isinstance(event, bodies.ShownEvent)
            wanted = Shown(event.decision) if is_shown else Reward(event.decision, event.value)
            waiting.setdefault(entry.name, {})[place] = wanted
        except RottingError as error:
            results[place] = error
    for name, group in waiting.items():
        outcomes = await service.writer.exchange(name, list(group.values()))
        for place, outcome in zip(group, outcomes, strict=True):
            results[place] = outcome
    return bodies.Results(results=[_result(each) for each in results])


def _result(outcome: object) -> bodies.Result:
    if isinstance(outcome, RottingError):
        return bodies.Result(status="refused", problem=problem_of(outcome))
    return bodies.Result(status="new" if outcome else "known")


# Bandits and arms.


async def list_bandits(service: Service, request: HttpRequest) -> bodies.Bandits:
    """List the bandits."""
    return bodies.Bandits(bandits=await service.names(request.key))


async def show_bandit(service: Service, request: HttpRequest) -> bodies.BanditReply:
    """Show a bandit and its settings."""
    name = request.params["bandit"]
    await service.entry(name)
    return await service.call(name, _described)


def _described(bandit: Bandit) -> bodies.BanditReply:
    found = bandit.standing()
    arms = [bodies.Arm(arm=arm, available=available) for arm, available in found.available.items()]
    settings = found.settings.to_dict()
    return bodies.BanditReply(
        bandit=bandit.name, policy=found.policy, arms=arms, events=found.events, settings=settings
    )


async def make_bandit(service: Service, request: HttpRequest) -> tuple[int, bodies.BanditReply]:
    """Make a bandit; again with the same arms and settings, nothing changes."""
    body = request.decoded(bodies.NewBandit)
    name = request.params["bandit"]
    settings = {field: value for field, value in to_builtins(body).items() if field not in ("arms", "policy")}
    policy = parse_policy(body.policy)

    def make() -> None:
        warm_up(policy)  # not in the thread that writes, which must not wait for a compiler
        try:
            with Bandit.open(service.options.url, name, policy, body.arms, **settings) as bandit:
                there = sorted(bandit.arms)
        except UnknownArm:
            there = []
        except SettingsConflict as error:
            error.hint = "leave it out, or change it: PATCH this address"
            raise
        if there != sorted(body.arms):
            hint = "give those that it has, or change them: PATCH .../arms"
            raise SettingsConflict(
                f"differ from those of bandit {quoted(name)}", name="arms", value=body.arms, hint=hint
            )

    async with service.making:
        await service.refresh(at_once=True)
        is_new = name not in service.directory.by_name
        await service.in_thread(make)
        await service.refresh(at_once=True)
    return HTTPStatus.CREATED if is_new else HTTPStatus.OK, await show_bandit(service, request)


async def change_arms(service: Service, request: HttpRequest) -> bodies.BanditReply:
    """Add, retire and restore arms."""
    await change(service, request.params["bandit"], request.decoded(bodies.ArmChanges))
    return await show_bandit(service, request)


async def change(service: Service, name: str, changes: bodies.ArmChanges) -> None:
    """Change the arms of a bandit. What must be learnt for new ones is learnt beside the thread that writes."""
    given = to_builtins(changes)
    await _with_bandit(service, name, lambda bandit: bandit.change_arms(**given))
    service.follower.want(name)
    service.shared.forget()


async def change_settings(service: Service, request: HttpRequest) -> bodies.BanditReply:
    """Change settings of a bandit."""
    given, name = to_builtins(request.decoded(bodies.Settings)), request.params["bandit"]
    if "policy" in given:
        given["policy"] = parse_policy(given["policy"])
    await _with_bandit(service, name, lambda bandit: bandit.change(**given))
    return await show_bandit(service, request)


async def _with_bandit(service: Service, name: str, work: Callable[[Bandit], Result]) -> Result:
    """Do something that may take long with a bandit, on a connection of its own and beside the thread that writes."""
    await service.entry(name)

    def with_bandit() -> Result:
        with Bandit.open(service.options.url, name) as bandit:
            return work(bandit)

    return await service.in_thread(with_bandit)


# Reading.


async def report(service: Service, request: HttpRequest) -> bodies.Report:
    """Say how the arms are doing."""
    found = await _with_bandit(service, request.params["bandit"], lambda bandit: bandit.report())
    return bodies.Report(**{field: getattr(found, field) for field in bodies.Report.__struct_fields__})


async def log(service: Service, request: HttpRequest) -> Any:
    """Read the log: a page of it as JSON, or all of the rest as lines."""
    name = (await service.entry(request.params["bandit"])).name
    query: bodies.LogQuery = request.query()
    is_page = query.format == "json"
    size = min(query.limit or LARGEST_PAGE, LARGEST_PAGE)
    portions = _portions(service.options.url, name, query.after, size if is_page else query.limit)
    first = await service.in_thread(lambda: next(portions, []))  # what cannot be read is refused now, ...
    if is_page:
        following = first[-1].seq if len(first) == size else None
        return bodies.LogPage(events=[bodies.LoggedEvent(*row) for row in first], next=following)
    make = _as_csv if query.format == "csv" else _as_lines
    head = _as_csv([LogRow._fields]) if query.format == "csv" else b""
    written = itertools.chain([head + make(first)], map(make, portions))  # ... not in the middle
    return StreamingResponse(written, media_type=_KINDS[query.format])


def _portions(url: str, name: str, after: int | None, limit: int | None) -> Iterator[list[LogRow]]:
    """Yield a log in portions, each read in a transaction of its own: a slow reader keeps nobody waiting."""
    with Bandit.open(url, name) as bandit:
        yield from bandit.rows(after=after, limit=limit, size=LARGEST_PAGE)


def _as_csv(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    for row in rows:
        writer.writerow(encode(cell).decode() if isinstance(cell, list) else cell for cell in row)
    return text.getvalue().encode()


def _as_lines(rows: Sequence[Sequence[object]]) -> bytes:
    return b"".join(encode(bodies.LoggedEvent(*row)) + b"\n" for row in rows)


_KINDS = {"json": JSON, "csv": "text/csv", "jsonl": "application/x-ndjson"}
BANDIT, DECISION = "/v1/bandits/{bandit}", "/v1/decisions/{decision}"
_BLUE = {"add": ["blue"], "retire": ["red"]}
_EVENT = {"kind": "reward", "decision": "ID", "value": 1.0}
_NEW = {"arms": ["red", "green"], "policy": "EffFEWA(sigma=0.5)"}
_MADE, _NOTED = {201: bodies.BanditReply, 200: bodies.BanditReply}, {201: bodies.Accepted, 200: bodies.Accepted}
_FOUND = {200: bodies.BanditReply}
ROUTES = (
    Route(
        "POST", f"{BANDIT}/decisions", decide, "client", bodies.Decide, {201: bodies.Decisions}, {"n": 1},
        body_is_optional=True, takes_key=True,
    ),
    Route("POST", f"{DECISION}/shown", shown, "client", None, {204: None}),
    Route("PUT", f"{DECISION}/reward", reward, "client", bodies.Reward, _NOTED, {"value": 1.0}),
    Route("POST", "/v1/events", events, "client", bodies.Events, {200: bodies.Results}, {"events": [_EVENT]}),
    Route("GET", "/v1/bandits", list_bandits, "reader", None, {200: bodies.Bandits}),
    Route("GET", BANDIT, show_bandit, "reader", None, _FOUND),
    Route("PUT", BANDIT, make_bandit, "admin", bodies.NewBandit, _MADE, _NEW),
    Route("PATCH", BANDIT, change_settings, "admin", bodies.Settings, _FOUND, {"epsilon": 0.05}),
    Route("PATCH", f"{BANDIT}/arms", change_arms, "admin", bodies.ArmChanges, _FOUND, _BLUE),
    Route("GET", f"{BANDIT}/report", report, "reader", None, {200: bodies.Report}),
    Route(
        "GET", f"{BANDIT}/events", log, "reader", None, {200: bodies.LogPage},
        query=bodies.LogQuery, kinds=tuple(_KINDS.values()),
    ),
)  # fmt: skip
