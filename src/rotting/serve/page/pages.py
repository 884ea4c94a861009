"""The routes of the pages: bandits, one bandit, changing its arms, logging in, the reference, style and script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, quote

from rotting.bandit import BanditError
from rotting.serve.access import COOKIE
from rotting.serve.api import change
from rotting.serve.errors import BadBody, Busy, NotAuthenticated
from rotting.serve.keys import ALLOWS
from rotting.serve.overview import make_overview
from rotting.serve.page import html
from rotting.serve.page.bandit import bandit_page, confirm_page
from rotting.serve.page.reference import reference_page
from rotting.serve.problems import problem_of, status_of
from rotting.serve.requests import ArmChanges
from rotting.serve.routing import HTML, TEXT, Answer, Query, Request, Route, redirect

if TYPE_CHECKING:
    from rotting.serve.app import Service

MOST_STREAMS = 200
LISTED_BANDITS = 50  # with their sentence; of the others only the name is shown
PULSE = 15.0  # seconds after which a stream says that it is still there
_COOKIE = "Path=/; HttpOnly; SameSite=Strict"


async def index(service: Service, request: Request) -> Answer:
    """List the bandits, each with its sentence."""
    names = await service.names(request.key)
    items = [await _listed(service, name) for name in names[:LISTED_BANDITS]]
    items += [f"<li>{html.link(html.bandit_path(name), name)}</li>" for name in names[LISTED_BANDITS:]]
    empty = "<p>There are none yet. The <a href='/reference#make_bandit'>reference</a> says how to make one.</p>"
    shown = f'<ul class="cards">{"".join(items)}</ul>' if items else empty
    body = f'<h1>Bandits</h1><section class="live" id="bandits">{shown}</section>'
    return Answer(200, html.page("Bandits · rotting", body, stream="/stream", leave=request.key is not None), HTML)


async def _listed(service: Service, name: str) -> str:
    try:
        found = await make_overview(service, name)
        inside = escape(found.lead) + "".join(f"<br><strong>{escape(need)}</strong>" for need in found.needs)
    except BanditError as error:
        inside = f"<strong>{escape(problem_of(error).detail)}</strong>"
    return f"<li><h2>{html.link(html.bandit_path(name), name)}</h2><p>{inside}</p></li>"


async def show_bandit(service: Service, request: Request) -> Answer:
    """Show one bandit."""
    found = await make_overview(service, request.params["bandit"])
    changeable = request.key is None or "admin" in ALLOWS[request.key.role]
    token = service.access.form_token(request) if changeable else None
    return Answer(200, await service.in_thread(lambda: bandit_page(found, token, request.key is not None)), HTML)


async def stream(service: Service, request: Request) -> Answer:
    """Say whenever something has changed."""
    name = request.params.get("bandit", "")
    if name:
        await service.entry(name)
        service.follower.want(name)
    if service.changes.streams >= MOST_STREAMS:
        raise Busy(f"{MOST_STREAMS} pages are open already", hint="close one")
    return Answer(200, _events(service, name), b"text/event-stream")


async def _events(service: Service, name: str) -> AsyncIterator[bytes]:
    service.changes.streams += 1
    service.metrics.stream(1)
    try:
        yield b"retry: 3000\n\n"
        while not service.changes.closed:
            changed = await service.changes.wait(name, PULSE)
            yield b"event: changed\ndata: \n\n" if changed else b": still here\n\n"
            await asyncio.sleep(1.0)
    finally:
        service.changes.streams -= 1
        service.metrics.stream(-1)


# Changing arms.

_ACTION = Query("action", Literal["add", "retire", "restore"], "What to do.")
_ARM = Query("arm", str, "The name of an arm.")


async def confirm(service: Service, request: Request) -> Answer:
    """Ask whether an arm shall really be changed."""
    query = request.query()
    if set(query) != {"action", "arm"}:
        raise BadBody("the form is not complete", hint="load the page again")
    name = (await service.entry(request.params["bandit"])).name
    token = service.access.form_token(request)
    return Answer(200, confirm_page(name, query["action"], query["arm"].strip(), token), HTML)


async def change_arm(service: Service, request: Request) -> Answer:
    """Change an arm, as a form says."""
    form = _form(request)
    service.access.check_form(request, form.get("token", ""))
    action, arm = form.get("action", ""), form.get("arm", "")
    if action not in ("add", "retire", "restore"):
        raise BadBody(name="action", value=action, expected="add, retire or restore")
    changes: dict[str, Any] = {action: [arm]}
    await change(service, request.params["bandit"], ArmChanges(**changes))
    return redirect(html.bandit_path(request.params["bandit"]))


def _form(request: Request) -> dict[str, str]:
    try:
        return dict(parse_qsl(request.body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise BadBody("the form cannot be read") from None


# Logging in.


async def login(service: Service, request: Request) -> Answer:
    """Ask for a key."""
    return Answer(200, _login_page(request.query().get("next", "/")), HTML)


def _login_page(following: str, problem: str = "") -> bytes:
    said = f'<p class="needs" role="alert">{escape(problem)}</p>' if problem else ""
    return html.page(
        "Log in · rotting",
        f"<h1>Log in</h1>{said}<p>With a key of the role reader or admin: <code>rotting serve keys add</code>.</p>"
        '<form class="row" method="post" action="/login"><label for="key">Key</label>'
        f'<input type="hidden" name="next" value="{escape(following)}">'
        '<input id="key" name="key" type="password" required autocomplete="current-password" size="50">'
        "<button>Log in</button></form>",
    )


async def log_in(service: Service, request: Request) -> Answer:
    """Keep a key in a cookie that scripts and other sites cannot use."""
    service.access.check_origin(request)
    form = _form(request)
    key = service.access.ring.find(form.get("key", "").strip())
    if key is None or "reader" not in ALLOWS[key.role]:
        return Answer(403, _login_page(form.get("next", "/"), "This is no valid key of a reader or an admin."), HTML)
    following = form.get("next", "/")
    safe = following if following.startswith("/") and not following.startswith(("//", "/\\")) else "/"
    if key.bandit is not None and safe == "/":
        safe = html.bandit_path(key.bandit)
    secure = "; Secure" if request.header(b"x-forwarded-proto") == "https" or request.scope["scheme"] == "https" else ""
    cookie = f"{COOKIE}={form['key'].strip()}; {_COOKIE}{secure}"
    return redirect(quote(safe, safe="/%?=&~._-"), [(b"set-cookie", cookie.encode())])


async def log_out(service: Service, request: Request) -> Answer:
    """Forget the key."""
    service.access.check_origin(request)
    return redirect("/login", [(b"set-cookie", f"{COOKIE}=; {_COOKIE}; Max-Age=0".encode())])


def error_answer(request: Request, error: Exception) -> Answer:
    """Return the page that shows an error."""
    if isinstance(error, NotAuthenticated) and request.scope["method"] == "GET":
        if request.route.handler is stream:
            return Answer(HTTPStatus.UNAUTHORIZED, kind=TEXT)
        return redirect(f"/login?next={quote(request.scope['path'], safe='/')}")
    status, problem = status_of(error), problem_of(error)
    body = f"<h1>{escape(problem.title)}</h1><p>{escape(problem.detail)}</p><p>{html.link('/', 'All bandits')}</p>"
    return Answer(status, html.page(f"{status:d} {status.phrase}", body), HTML)


# What does not change.


async def reference(service: Service, request: Request) -> Answer:
    """Describe the API, for people."""
    from rotting.serve.app import ROUTER

    return Answer(200, reference_page(ROUTER.routes), HTML)


async def style(service: Service, request: Request) -> Answer:
    """Return the style of the pages."""
    return Answer(200, html.style(), b"text/css; charset=utf-8")


async def script(service: Service, request: Request) -> Answer:
    """Return the script of the pages."""
    return Answer(200, html.script(), b"text/javascript; charset=utf-8")


_BANDIT = "/bandits/{bandit}"
ROUTES = (
    Route(method="GET", path="/", handler=index, role="reader", style="page"),
    Route(method="GET", path="/stream", handler=stream, role="reader", style="page"),
    Route(method="GET", path=_BANDIT, handler=show_bandit, role="reader", style="page"),
    Route(method="GET", path=f"{_BANDIT}/stream", handler=stream, role="reader", style="page"),
    Route(method="GET", path=f"{_BANDIT}/confirm", handler=confirm, role="admin", query=(_ACTION, _ARM), style="page"),
    Route(method="POST", path=f"{_BANDIT}/arms", handler=change_arm, role="admin", style="page"),
    Route(
        method="GET", path="/login", handler=login, role=None, query=(Query("next", str, "Where to go."),), style="page"
    ),
    Route(method="POST", path="/login", handler=log_in, role=None, style="page"),
    Route(method="POST", path="/logout", handler=log_out, role=None, style="page"),
    Route(method="GET", path="/reference", handler=reference, role=None, style="page"),
    Route(method="GET", path="/static/style.css", handler=style, role=None),
    Route(method="GET", path="/static/live.js", handler=script, role=None),
)
