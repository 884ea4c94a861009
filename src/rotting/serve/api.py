"""The API: decisions, exposures, rewards, bandits, arms, reports, logs."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import AsyncGenerator, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from msgspec import Meta, to_builtins

from rotting.bandit import Bandit, BanditError, Choice, Decide, LogRow, Outcome, Request, Reward, Shown, warm_up
from rotting.errors import RottingError
from rotting.policies import parse_policy
from rotting.serve import requests as bodies
from rotting.serve.access import check_bandit
from rotting.serve.problems import problem_of
from rotting.serve.requests import encode
from rotting.serve.routing import Answer, Query, Route, checked
from rotting.serve.routing import Request as HttpRequest

if TYPE_CHECKING:
    from rotting.serve.app import Service

LARGEST_PAGE = 1000  # events
Result = TypeVar("Result")


async def decide(service: Service, request: HttpRequest) -> Answer:
    """Take decisions."""
    body = request.decoded(bodies.Decide)
    key = request.only_header(b"idempotency-key")
    among = None if body.among is None else tuple(body.among)
    return Answer(201, encode({"decisions": await choices(service, request.params["bandit"], int(body.n), among, key)}))


async def choices(
    service: Service, bandit: str, n: int, among: tuple[str, ...] | None = None, key: str | None = None
) -> list[Choice]:
    """Return decisions of a bandit, once they are durable."""
    wanted = Decide(n, among, key)
    await service.entry(bandit)
    (outcome,) = await service.writer.exchange(bandit, (wanted,))
    if isinstance(outcome, BanditError):
        raise outcome
    assert isinstance(outcome, list)
    return outcome


async def shown(service: Service, request: HttpRequest) -> Answer:
    """Log that a decision was shown."""
    await _report(service, request, Shown(request.params["decision"]))
    return Answer(HTTPStatus.NO_CONTENT)


async def reward(service: Service, request: HttpRequest) -> Answer:
    """Log the reward of a decision."""
    value = request.decoded(bodies.Reward).value
    new = await _report(service, request, Reward(request.params["decision"], value))
    return Answer(201 if new else 200, encode(bodies.Accepted(new=bool(new))))


async def _report(service: Service, request: HttpRequest, outcome: Shown | Reward) -> Outcome:
    entry = await service.entry_of(outcome.decision)
    check_bandit(request.key, entry.name)
    (result,) = await service.writer.exchange(entry.name, (outcome,))
    if isinstance(result, BanditError):
        raise result
    return result


async def events(service: Service, request: HttpRequest) -> Answer:
    """Log exposures and rewards, a result for each."""
    given = request.decoded(bodies.UncheckedEvents).events
    results: list[Any] = [None] * len(given)
    waiting: dict[str, tuple[list[int], list[Request]]] = {}
    for place, unchecked in enumerate(given):
        try:
            event = checked(bodies.Event, unchecked)
            entry = await service.entry_of(event.decision)
            check_bandit(request.key, entry.name)
            wanted = (
                Shown(event.decision) if isinstance(event, bodies.ShownEvent) else Reward(event.decision, event.value)
            )
        except RottingError as error:
            results[place] = error
        else:
            places, group = waiting.setdefault(entry.name, ([], []))
            places.append(place)
            group.append(wanted)
    for name, (places, group) in waiting.items():
        outcomes = await service.writer.exchange(name, group)
        for place, outcome in zip(places, outcomes, strict=True):
            results[place] = outcome
    return Answer(200, encode(bodies.Results(results=[_result(each) for each in results])))


def _result(outcome: object) -> bodies.Result:
    if isinstance(outcome, RottingError):
        return bodies.Result(status="refused", problem=problem_of(outcome))
    return bodies.Result(status="new" if outcome else "known")


# Bandits and arms.


async def list_bandits(service: Service, request: HttpRequest) -> Answer:
    """List the bandits."""
    return Answer(200, encode(bodies.Bandits(bandits=await service.names(request.key))))


async def show_bandit(service: Service, request: HttpRequest) -> Answer:
    """Show a bandit and its settings."""
    return Answer(200, encode(await _described(service, request.params["bandit"])))


async def _described(service: Service, name: str) -> bodies.BanditReply:
    await service.entry(name)
    return await service.call(name, _describe)


def _describe(bandit: Bandit) -> bodies.BanditReply:
    found = bandit.standing()
    arms = [bodies.Arm(arm=arm, available=available) for arm, available in found.available.items()]
    return bodies.BanditReply(
        bandit=bandit.name,
        policy=found.policy,
        arms=arms,
        events=found.events,
        settings=found.settings.to_dict(),
    )


async def make_bandit(service: Service, request: HttpRequest) -> Answer:
    """Make a bandit; again with the same settings, nothing changes."""
    body = request.decoded(bodies.NewBandit)
    name = request.params["bandit"]
    settings = {field: value for field, value in to_builtins(body).items() if field not in ("arms", "policy")}
    policy = parse_policy(body.policy)
    await service.refresh()
    new = not service.directory.knows(name)

    def make() -> None:
        warm_up(policy)  # not in the thread that writes, which must not wait for a compiler
        Bandit.open(service.options.url, name, policy, body.arms, **settings).close()

    await service.in_thread(make)
    await service.refresh(at_once=True)
    return Answer(201 if new else 200, encode(await _described(service, name)))


async def change_arms(service: Service, request: HttpRequest) -> Answer:
    """Add, retire and restore arms."""
    body = request.decoded(bodies.ArmChanges)
    await change(service, request.params["bandit"], body)
    return Answer(200, encode(await _described(service, request.params["bandit"])))


async def change(service: Service, name: str, changes: bodies.ArmChanges) -> None:
    """Change the arms of a bandit. What must be learnt for new ones is learnt beside the thread that writes."""
    await _with_bandit(
        service,
        name,
        lambda bandit: bandit.change_arms(add=changes.add, retire=changes.retire, restore=changes.restore),
    )
    service.follower.want(name)


async def change_settings(service: Service, request: HttpRequest) -> Answer:
    """Change settings of a bandit, as an event of its log."""
    given, name = to_builtins(request.decoded(bodies.Settings)), request.params["bandit"]
    if "policy" in given:
        given["policy"] = parse_policy(given["policy"])
    await _with_bandit(service, name, lambda bandit: bandit.change(**given))
    return Answer(200, encode(await _described(service, name)))


async def _with_bandit(service: Service, name: str, work: Callable[[Bandit], Result]) -> Result:
    """Do something that may take long with a bandit, on a connection of its own and beside the thread that writes."""
    await service.entry(name)

    def with_bandit() -> Result:
        with Bandit.open(service.options.url, name) as bandit:
            return work(bandit)

    return await service.in_thread(with_bandit)


# Reading.


async def report(service: Service, request: HttpRequest) -> Answer:
    """Say how the arms are doing."""
    content = await _with_bandit(service, request.params["bandit"], lambda bandit: bandit.report().to_dict())
    return Answer(200, encode(content))


async def log(service: Service, request: HttpRequest) -> Answer:
    """Read the log: a page of it as JSON, or all of the rest as lines."""
    name = (await service.entry(request.params["bandit"])).name
    query = request.query()
    limit, form = query.get("limit"), query.get("format", "json")
    if form == "json":
        size = min(limit or LARGEST_PAGE, LARGEST_PAGE)
        rows = [row async for portion in _portions(service, name, query.get("after"), size) for row in portion]
        following = rows[-1].seq if len(rows) == size else None
        return Answer(200, encode({"events": [row._asdict() for row in rows], "next": following}))
    kind = b"text/csv; charset=utf-8" if form == "csv" else b"application/x-ndjson"
    found = _portions(service, name, query.get("after"), limit)
    first: list[LogRow] = await anext(found, [])  # what cannot be read is refused now, not in the middle
    return Answer(200, _lines(first, found, form), kind)


async def _portions(service: Service, name: str, after: int | None, limit: int | None) -> AsyncGenerator[list[LogRow]]:
    """Yield a log in portions, each read in a transaction of its own: a slow reader keeps nobody waiting."""
    bandit = await service.in_thread(lambda: Bandit.open(service.options.url, name))
    try:
        found = bandit.rows(after=after, limit=limit, size=LARGEST_PAGE)
        while portion := await service.in_thread(lambda: next(found, None)):
            yield portion
    finally:
        bandit.close()


async def _lines(first: list[LogRow], rest: AsyncGenerator[list[LogRow]], form: str) -> AsyncGenerator[bytes]:
    make = _as_csv if form == "csv" else _as_lines
    if form == "csv":
        yield (",".join(LogRow._fields) + "\r\n").encode()
    async with contextlib.aclosing(rest):
        yield make(first)
        async for portion in rest:
            yield make(portion)


def _as_csv(rows: list[LogRow]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    for row in rows:
        writer.writerow(encode(cell).decode() if isinstance(cell, list) else cell for cell in row)
    return text.getvalue().encode()


def _as_lines(rows: list[LogRow]) -> bytes:
    return b"".join(encode(row._asdict()) + b"\n" for row in rows)


_AFTER = Query("after", Annotated[int, Meta(ge=0, le=2**62)], "Only events after this number.")
_LIMIT = Query("limit", Annotated[int, Meta(ge=1, le=2**31)], "At most so many; as JSON, 1000.")
_FORMAT = Query("format", Literal["json", "csv", "jsonl"], "JSON in pages, or all of the log as CSV or JSON lines.")

BANDIT, DECISION = "/v1/bandits/{bandit}", "/v1/decisions/{decision}"
ROUTES = (
    Route(
        method="POST",
        path=f"{BANDIT}/decisions",
        handler=decide,
        role="client",
        summary="Decide which arm to show",
        body=bodies.Decide,
        body_is_optional=True,
        takes_key=True,
        replies={201: bodies.Decisions},
        errors=(404, 409, 503),
    ),
    Route(
        method="POST",
        path=f"{DECISION}/shown",
        handler=shown,
        role="client",
        summary="Log that a decision was shown",
        replies={204: None},
        errors=(404, 503),
    ),
    Route(
        method="PUT",
        path=f"{DECISION}/reward",
        handler=reward,
        role="client",
        summary="Log the reward of a decision",
        body=bodies.Reward,
        replies={201: bodies.Accepted, 200: bodies.Accepted},
        errors=(404, 409, 503),
    ),
    Route(
        method="POST",
        path="/v1/events",
        handler=events,
        role="client",
        summary="Log many exposures and rewards",
        body=bodies.Events,
        replies={200: bodies.Results},
        errors=(503,),
    ),
    Route(
        method="GET",
        path="/v1/bandits",
        handler=list_bandits,
        role="reader",
        summary="List the bandits",
        replies={200: bodies.Bandits},
        errors=(503,),
    ),
    Route(
        method="GET",
        path=BANDIT,
        handler=show_bandit,
        role="reader",
        summary="Show a bandit and its settings",
        replies={200: bodies.BanditReply},
        errors=(404, 503),
    ),
    Route(
        method="PUT",
        path=BANDIT,
        handler=make_bandit,
        role="admin",
        summary="Make a bandit",
        body=bodies.NewBandit,
        replies={201: bodies.BanditReply, 200: bodies.BanditReply},
        errors=(404, 409, 503),
    ),
    Route(
        method="PATCH",
        path=BANDIT,
        handler=change_settings,
        role="admin",
        summary="Change settings of a bandit",
        body=bodies.Settings,
        replies={200: bodies.BanditReply},
        errors=(404, 409, 503),
    ),
    Route(
        method="PATCH",
        path=f"{BANDIT}/arms",
        handler=change_arms,
        role="admin",
        summary="Add, retire and restore arms",
        body=bodies.ArmChanges,
        replies={200: bodies.BanditReply},
        errors=(404, 409, 503),
    ),
    Route(
        method="GET",
        path=f"{BANDIT}/report",
        handler=report,
        role="reader",
        summary="Say how the arms are doing",
        replies={200: bodies.Report},
        errors=(404, 503),
    ),
    Route(
        method="GET",
        path=f"{BANDIT}/events",
        handler=log,
        role="reader",
        summary="Read the log",
        query=(_AFTER, _LIMIT, _FORMAT),
        replies={200: bodies.LogPage},
        kinds=("application/json", "text/csv", "application/x-ndjson"),
        errors=(404, 503),
    ),
)
