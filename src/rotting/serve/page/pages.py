"""The routes of the pages: bandits, one bandit, changing its arms, logging in, the reference, style and script."""

from __future__ import annotations

import hashlib
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

import msgspec
from starlette.responses import RedirectResponse, Response

from rotting.bandit import BanditError
from rotting.serve.access import COOKIE
from rotting.serve.api import change
from rotting.serve.errors import BadBody, NotAuthenticated
from rotting.serve.keys import ALLOWS
from rotting.serve.overview import lead, make_overview
from rotting.serve.page import html
from rotting.serve.page.bandit import bandit_page
from rotting.serve.page.reference import reference_page
from rotting.serve.problems import problem_of, status_of
from rotting.serve.requests import ArmChanges, ArmForm, Login
from rotting.serve.routing import HTML, Request, Route

if TYPE_CHECKING:
    from rotting.serve.app import Service

LISTED_BANDITS = 50  # with their sentence; of the others only the name is shown


def _page(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type=HTML)


def _redirect(where: str) -> Response:
    """Send a browser elsewhere, to GET it."""
    return RedirectResponse(where, HTTPStatus.SEE_OTHER)


async def index(service: Service, request: Request) -> Response:
    """List the bandits, each with its sentence."""
    names = await service.names(request.key)
    items = [await _listed(service, name) for name in names[:LISTED_BANDITS]]
    items += [f"<li>{html.link(html.bandit_path(name), name)}</li>" for name in names[LISTED_BANDITS:]]
    empty = "<p>There are none yet. The <a href='/reference#make_bandit'>reference</a> says how to make one.</p>"
    shown = f'<ul class="cards">{"".join(items)}</ul>' if items else empty
    body = f'<h1>Bandits</h1><section class="live" id="bandits">{shown}</section>'
    return _live(request, html.page("Bandits · rotting", body, live=True, leave=request.key is not None))


async def _listed(service: Service, name: str) -> str:
    try:
        found = await make_overview(service, name)
        inside = escape(lead(found.arms)) + "".join(f"<br><strong>{escape(need)}</strong>" for need in found.needs)
    except BanditError as error:
        inside = f"<strong>{escape(problem_of(error).detail)}</strong>"
    return f"<li><h2>{html.link(html.bandit_path(name), name)}</h2><p>{inside}</p></li>"


async def show_bandit(service: Service, request: Request) -> Response:
    """Show one bandit: one rendering for all who see the same."""
    name, leave = request.params["bandit"], request.key is not None
    changeable = request.key is None or "admin" in ALLOWS[request.key.role]
    found = await make_overview(service, name)
    seen = name, changeable, leave, found.tally.seq, found.found.events, found.needs

    async def render() -> bytes:
        return await service.in_thread(lambda: bandit_page(found, changeable, leave))

    return _live(request, await service.shared.get(seen[:3], render, seen))


def _live(request: Request, content: bytes) -> Response:
    """Send a page, unless the script of one that is open has the same already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if request.header(b"if-none-match") == tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED)
    return Response(content, media_type=HTML, headers={"etag": tag})


# Changing arms.


async def change_arm(service: Service, request: Request) -> Response:
    """Change an arm, as a form says."""
    service.access.check_origin(request)
    try:
        asked = msgspec.convert(_form(request), ArmForm)
    except msgspec.ValidationError as error:
        raise BadBody(f"the form: {error}") from None
    await change(service, request.params["bandit"], ArmChanges(**{asked.action: [asked.arm.strip()]}))
    return _redirect(html.bandit_path(request.params["bandit"]))


def _form(request: Request) -> dict[str, str]:
    try:
        return dict(parse_qsl(request.content.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise BadBody("the form cannot be read") from None


# Logging in.


async def login(service: Service, request: Request) -> Response:
    """Ask for a key."""
    return _page(_login_page(request.query().next))


def _login_page(following: str, problem: str = "") -> bytes:
    said = f'<p class="needs" role="alert">{escape(problem)}</p>' if problem else ""
    fields = (
        '<label for="key">Key</label><input id="key" name="key" type="password" required size="50"'
        ' autocomplete="current-password"><button>Log in</button>'
    )
    fields += f'<input type="hidden" name="next" value="{escape(following)}">'
    asked = f'<form class="row" method="post" action="/login">{fields}</form>'
    whose = "<p>With a key of the role reader or admin: <code>rotting serve keys add</code>.</p>"
    return html.page("Log in · rotting", f"<h1>Log in</h1>{said}{whose}{asked}")


async def log_in(service: Service, request: Request) -> Response:
    """Keep a key in a cookie that scripts and other sites cannot use."""
    service.access.check_origin(request)
    form = _form(request)
    secret, following = form.get("key", "").strip(), form.get("next", "/")
    key = service.access.ring.find(secret)
    if key is None or "reader" not in ALLOWS[key.role]:
        return _page(_login_page(following, "This is not a valid key of a reader or an admin."), HTTPStatus.FORBIDDEN)
    if not following.startswith("/") or following.startswith(("//", "/\\")):
        following = "/"
    if key.bandit is not None and following == "/":
        following = html.bandit_path(key.bandit)
    response = _redirect(following)
    secure = "https" in (request.header(b"x-forwarded-proto"), request.scope["scheme"])
    response.set_cookie(COOKIE, secret, httponly=True, samesite="strict", secure=secure)
    return response


async def log_out(service: Service, request: Request) -> Response:
    """Forget the key."""
    service.access.check_origin(request)
    response = _redirect("/login")
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def error_reply(request: Request, error: Exception) -> Response:
    """Return the page that shows an error."""
    if isinstance(error, NotAuthenticated) and request.method == "GET":
        return _redirect(f"/login?next={quote(request.scope['path'], safe='/%')}")
    status, problem = status_of(error), problem_of(error)
    body = f"<h1>{escape(problem.title)}</h1><p>{escape(problem.detail)}</p><p>{html.link('/', 'All bandits')}</p>"
    return _page(html.page(f"{status:d} {status.phrase}", body), status)


# What does not change.


async def reference(service: Service, request: Request) -> Response:
    """Describe the API, for people."""
    from rotting.serve.app import ROUTES as ALL

    return _page(reference_page(ALL))


async def style(service: Service, request: Request) -> Response:
    """Return the style of the pages."""
    return Response(html.static("style.css"), media_type="text/css")


async def script(service: Service, request: Request) -> Response:
    """Return the script of the pages."""
    return Response(html.static("live.js"), media_type="text/javascript")


_BANDIT = "/bandits/{bandit}"
ROUTES = (
    Route("GET", "/", index, "reader", style="page"),
    Route("GET", _BANDIT, show_bandit, "reader", style="page"),
    Route("POST", f"{_BANDIT}/arms", change_arm, "admin", style="page"),
    Route("GET", "/login", login, None, query=Login, style="page"),
    Route("POST", "/login", log_in, None, style="page"),
    Route("POST", "/logout", log_out, None, style="page"),
    Route("GET", "/reference", reference, None, style="page"),
    Route("GET", "/static/style.css", style, None),
    Route("GET", "/static/live.js", script, None),
)
