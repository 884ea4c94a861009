"""The API: decisions, exposures, rewards, bandits, arms, reports, logs."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, convert, to_builtins

from rotting.bandit import Bandit, BanditError, Choice, Decide, Outcome, Request, Reward, Shown
from rotting.errors import RottingError
from rotting.policies import parse_policy
from rotting.serve import requests as bodies
from rotting.serve.access import check_bandit
from rotting.serve.bandits import warm
from rotting.serve.logs import COLUMNS, LARGEST_PAGE, LogReader
from rotting.serve.problems import problem_of
from rotting.serve.requests import encode
from rotting.serve.routing import Answer, Query, Route
from rotting.serve.routing import Request as HttpRequest

if TYPE_CHECKING:
    from rotting.serve.app import Service


async def decide(service: Service, request: HttpRequest) -> Answer:
    """Take decisions."""
    body = request.decoded(bodies.Decide)
    key = request.header(b"idempotency-key")
    among = None if body.among is None else tuple(body.among)
    return Answer(201, encode({"decisions": await choices(service, request.params["bandit"], body.n, among, key)}))


async def choices(
    service: Service, bandit: str, n: int, among: tuple[str, ...] | None = None, key: str | None = None
) -> list[Choice]:
    """Return decisions of a bandit, once they are durable."""
    wanted = Decide(n, among, key)
    entry = await service.entry(bandit)
    (outcome,) = await service.writers.of(entry).exchange(bandit, (wanted,))
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
    (result,) = await service.writers.of(entry).exchange(entry.name, (outcome,))
    if isinstance(result, BanditError):
        raise result
    return result


async def events(service: Service, request: HttpRequest) -> Answer:
    """Log exposures and rewards, a result for each."""
    given = request.decoded(bodies.Events).events
    results: list[Any] = [None] * len(given)
    waiting: dict[str, tuple[list[int], list[Request]]] = {}
    for place, event in enumerate(given):
        try:
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
        outcomes = await service.writers.of(await service.entry(name)).exchange(name, group)
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
    entry = await service.entry(name)
    reply: bodies.BanditReply = await service.writers.of(entry).call(name, _describe)
    return reply


def _describe(bandit: Bandit) -> bodies.BanditReply:
    arms = [bodies.Arm(arm=arm, available=available) for arm, available in bandit.arms.items()]
    return bodies.BanditReply(
        bandit=bandit.name,
        policy=str(bandit.policy),
        arms=arms,
        events=bandit._log.state.seq,
        settings=bandit.settings.to_dict(),
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
        warm(policy)  # not in the thread that writes, which must not wait for a compiler
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
    """Change the arms of a bandit."""
    entry = await service.entry(name)
    await service.writers.of(entry).call(
        name,
        lambda bandit: bandit.change_arms(add=changes.add, retire=changes.retire, restore=changes.restore),
    )


# Reading.


async def report(service: Service, request: HttpRequest) -> Answer:
    """Say how the arms are doing."""
    name = (await service.entry(request.params["bandit"])).name

    def make() -> dict[str, object]:
        with Bandit.open(service.options.url, name) as bandit:
            return bandit.report().to_dict()

    return Answer(200, encode(convert(await service.in_thread(make), bodies.Report)))


async def log(service: Service, request: HttpRequest) -> Answer:
    """Read the log: a page of it as JSON, or all of the rest as lines."""
    entry = await service.entry(request.params["bandit"])
    query = request.query()
    after, limit, form = query.get("after", 0), query.get("limit"), query.get("format", "json")
    names, last = await service.writers.of(entry).call(entry.name, _names_and_last)
    reader = LogReader(service.database, entry.id, names, last)
    if form == "json":
        size = min(limit or LARGEST_PAGE, LARGEST_PAGE)
        found = await service.in_thread(lambda: reader.read(after, size))
        following = found[-1].seq if len(found) == size else None
        return Answer(200, encode(bodies.LogPage(events=found, next=following)))
    kind = b"text/csv; charset=utf-8" if form == "csv" else b"application/x-ndjson"
    return Answer(200, _lines(service, reader, after, limit, form), kind)


def _names_and_last(bandit: Bandit) -> tuple[list[str], int]:
    names = list(bandit.arms)  # this looks at the log for what other servers have written
    return names, bandit._log.state.seq


async def _lines(service: Service, reader: LogReader, after: int, limit: int | None, form: str) -> AsyncIterator[bytes]:
    """Yield the log in portions, each read in a transaction of its own: a slow reader keeps nobody waiting."""
    if form == "csv":
        yield (",".join(COLUMNS) + "\r\n").encode()
    while limit is None or limit > 0:
        size = LARGEST_PAGE if limit is None else min(limit, LARGEST_PAGE)
        found = await service.in_thread(partial(reader.read, after, size))
        if found:
            yield _as_csv(found) if form == "csv" else b"".join(encode(event) + b"\n" for event in found)
            after = found[-1].seq
        limit = None if limit is None else limit - len(found)
        if len(found) < size:
            return


def _as_csv(found: list[bodies.LoggedEvent]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    for event in found:
        cells = [getattr(event, column) for column in COLUMNS]
        writer.writerow(encode(cell).decode() if isinstance(cell, list) else cell for cell in cells)
    return text.getvalue().encode()


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
