"""The pages: bandits, one bandit, changing its arms, logging in, the reference, style and script."""

from __future__ import annotations

import hashlib
from functools import partial
from html import escape
from http import HTTPStatus
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from rotting.bandit import BanditError
from rotting.serve.access import COOKIE
from rotting.serve.api import change
from rotting.serve.errors import NotAuthenticated
from rotting.serve.keys import find_key, may
from rotting.serve.overview import Overview, lead, show
from rotting.serve.page import html
from rotting.serve.page.bandit import bandit_page
from rotting.serve.page.reference import reference_page
from rotting.serve.problems import HTML, problem_of
from rotting.serve.requests import ArmChanges, ArmForm, Login, LoginForm
from rotting.serve.routing import ROUTES, Request, route
from rotting.serve.writer import Writer

LISTED_BANDITS = 50  # with their sentence; of the others only the name is shown
_BANDIT = "/bandits/{bandit}"


def _sent(request: Request, content: bytes, status: int = 200) -> Response:
    """Send a page. Its addresses begin with the prefix: what users wrote has no quotation marks, which are escaped."""
    start = f'="{request.service.options.prefix}/'
    return Response(content.replace(b'="/', start.encode()), status, media_type=HTML)


def _redirect(request: Request, where: str) -> Response:
    """Send a browser elsewhere, to GET it."""
    return RedirectResponse(request.service.options.prefix + where, 303)


def error_reply(error: Exception, request: Request) -> Response:
    """Return the page that shows an error."""
    if isinstance(error, NotAuthenticated) and request.method == "GET":
        return _redirect(request, f"/login?next={quote(request.scope['path'], safe='/%')}")
    problem = problem_of(error)
    body = f"<h1>{escape(problem.title)}</h1><p>{escape(problem.detail)}</p><p>{html.link('/', 'All bandits')}</p>"
    return _sent(request, html.page(f"{problem.status:d} {HTTPStatus(problem.status).phrase}", body), problem.status)


_page = partial(route, style="page", refuse=error_reply)


def _live(request: Request, content: bytes) -> Response:
    """Send a page, unless the script of one that is open has the same already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if request.header(b"if-none-match") == tag:
        return Response(status_code=304)
    response = _sent(request, content)
    response.headers["etag"] = tag
    return response


@_page("GET", "/", "reader")
async def index(request: Request) -> Response:
    """List the bandits, each with its sentence."""
    names = await request.service.names(request.key)
    items = [await _listed(request.service, name) for name in names[:LISTED_BANDITS]]
    items += [f"<li>{html.link(html.bandit_path(name), name)}</li>" for name in names[LISTED_BANDITS:]]
    empty = '<p>There are none yet. The <a href="/reference#make_bandit">reference</a> says how to make one.</p>'
    shown = f'<ul class="cards">{"".join(items)}</ul>' if items else empty
    body = f'<h1>Bandits</h1><section class="live" id="bandits">{shown}</section>'
    return _live(request, html.page("Bandits · rotting", body, live=True, leave=request.key is not None))


async def _listed(service: Writer, name: str) -> str:
    try:
        inside = await service.shared.get(("listed", name), lambda: show(service, name, _said))
    except BanditError as error:
        inside = f"<strong>{escape(problem_of(error).detail)}</strong>"
    return f"<li><h2>{html.link(html.bandit_path(name), name)}</h2><p>{inside}</p></li>"


def _said(found: Overview) -> str:
    return escape(lead(found.arms)) + "".join(f"<br><strong>{escape(need)}</strong>" for need in found.needs)


@_page("GET", _BANDIT, "reader")
async def show_bandit(request: Request, bandit: str) -> Response:
    """Show one bandit: one rendering a second for all who see the same."""
    service, changeable, leave = request.service, may(request.key, "admin"), request.key is not None

    def page(found: Overview) -> bytes:
        return bandit_page(found, changeable, leave)

    return _live(request, await service.shared.get((bandit, changeable, leave), lambda: show(service, bandit, page)))


@_page("POST", f"{_BANDIT}/arms", "admin")
async def change_arm(request: Request, bandit: str, body: ArmForm) -> Response:
    """Change an arm, as a form says."""
    await change(request.service, bandit, ArmChanges(**{body.action: [body.arm.strip()]}))
    return _redirect(request, html.bandit_path(bandit))


@_page("GET", "/login", None)
async def login(request: Request, query: Login) -> Response:
    """Ask for a key."""
    return _sent(request, _login_page(query.next))


def _login_page(following: str, problem: str = "") -> bytes:
    said = f'<p class="needs" role="alert">{escape(problem)}</p>' if problem else ""
    fields = (
        '<label for="key">Key</label><input id="key" name="key" type="password" required size="50"'
        ' autocomplete="current-password"><button>Log in</button>'
        f'<input type="hidden" name="next" value="{escape(following)}">'
    )
    asked = f'<form class="row" method="post" action="/login">{fields}</form>'
    whose = "<p>With a key of the role reader or admin: <code>rotting serve keys add</code>.</p>"
    return html.page("Log in · rotting", f"<h1>Log in</h1>{said}{whose}{asked}")


@_page("POST", "/login", None)
async def log_in(request: Request, body: LoginForm) -> Response:
    """Keep a key in a cookie that scripts and other sites cannot use."""
    prefix = request.service.options.prefix
    secret, following = body.key.strip(), body.next.removeprefix(prefix)
    key = find_key(request.service.access.keys, secret)
    if key is None or not may(key, "reader"):
        return _sent(request, _login_page(following, "This is not a valid key of a reader or an admin."), 403)
    if not following.startswith("/") or following.startswith(("//", "/\\")):
        following = "/"
    if key.bandit is not None and following == "/":
        following = html.bandit_path(key.bandit)
    response = _redirect(request, following)
    secure = "https" in (request.header(b"x-forwarded-proto"), request.scope["scheme"])
    response.set_cookie(COOKIE, secret, path=prefix or "/", httponly=True, samesite="strict", secure=secure)
    return response


@_page("POST", "/logout", None)
async def log_out(request: Request) -> Response:
    """Forget the key."""
    response = _redirect(request, "/login")
    response.delete_cookie(COOKIE, request.service.options.prefix or "/", httponly=True, samesite="strict")
    return response


# What does not change.


@_page("GET", "/reference", None)
async def reference(request: Request) -> Response:
    """Describe the API, for people."""
    return _sent(request, reference_page(tuple(ROUTES)))


@route("GET", "/static/style.css", None)
async def style(request: Request) -> Response:
    """Return the style of the pages."""
    return Response(html.static("style.css"), media_type="text/css")


@route("GET", "/static/live.js", None)
async def script(request: Request) -> Response:
    """Return the script of the pages."""
    return Response(html.static("live.js"), media_type="text/javascript")
