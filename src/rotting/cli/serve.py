"""`rotting serve URL`, and `rotting serve keys add | list | revoke`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from rotting.cli.options import InputError, whole_option
from rotting.cli.tables import add_row, make_console, make_table
from rotting.errors import MissingExtra, literal

if TYPE_CHECKING:
    from rotting.bandit import Store

RUN = "run"
OptionalUrl = Annotated[
    str | None, typer.Argument(help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE.", show_default=False)
]
Url = Annotated[str, typer.Argument(help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE.")]


class _RunByDefault(TyperGroup):
    """`rotting serve URL` means `rotting serve run URL`."""

    default_command = RUN

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else [RUN, *args])


app = typer.Typer(cls=_RunByDefault, help="Serve bandits over HTTP, with a page that shows which arms are worn.")
keys = typer.Typer(help="Keys: who may use the service, and for what.")
app.add_typer(keys, name="keys")


@app.command(
    name=RUN, hidden=True, epilog="See also: rotting serve keys --help, and docs/service.md for the API and the page."
)
def run(
    url: OptionalUrl = None,
    host: Annotated[str, typer.Option(help="Address to listen on; without keys, this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(**whole_option("--port", 0, 65535), help="0: any that is free.")] = 8000,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="A site whose pages may call the API, such as https://example.org.", show_default=False),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            **whole_option("--processes", 1, 64),
            help="That speak HTTP; beside several, one more writes.",
            show_default="as many as cores",
        ),
    ] = None,
    meet: Annotated[
        str | None,
        typer.Option(
            help="HOST:PORT where other hosts reach this one, to share the bandits of a PostgreSQL with them.",
            show_default=False,
        ),
    ] = None,
    rate_limit: Annotated[
        int, typer.Option(**whole_option("--rate-limit", 0), help="Requests per second and key; 0: any number.")
    ] = 1000,
    prefix: Annotated[
        str, typer.Option(help="What all paths begin with, behind a proxy: /bandits.", show_default=False)
    ] = "",
    demo: Annotated[bool, typer.Option("--demo", help="Serve a bandit that lives: its arms wear out.")] = False,
) -> None:
    """Serve the bandits of a database over HTTP: an API, OpenFeature, metrics, and a page that shows wear-out."""
    import tempfile

    with _needs_extra():
        from rotting.serve import running
        from rotting.serve.service import Options

    if url is None and not demo:
        raise InputError("expected the address of a database, for example sqlite:///fatigue.db, or --demo")
    with contextlib.ExitStack() as stack:
        if url is None:
            url = f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory(prefix='rotting-demo-'))}/demo.db"
        running.check_listening(url, host)
        options = Options(
            url=url,
            open_to_all=running.is_loopback(host),
            origins=tuple(_origin(each) for each in allow_origin or ()),
            rate_limit=rate_limit,
            prefix=_prefix(prefix),
            demo=demo,
            processes=processes or running.cores(),
            meet=_meeting(meet, url),
        )
        if not running.serve(options, host, port, typer.echo):
            raise typer.Exit(1)


def _origin(text: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/"):
        raise InputError(name="allow_origin", value=text, expected="a scheme and a host: https://example.org")
    return f"{parts.scheme}://{parts.netloc}"


def _meeting(text: str | None, url: str) -> tuple[str, int] | None:
    if text is None:
        return None
    from rotting.bandit import is_shared

    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536 or len(text) > 40:
        raise InputError(name="meet", value=text, expected="a host and a port: 10.0.0.5:8100")
    if not is_shared(url):
        raise InputError(name="meet", value=text, expected="the address of a PostgreSQL, which several hosts can share")
    return host.strip("[]"), int(port)


def _prefix(text: str) -> str:
    from urllib.parse import urlsplit

    if text and (not text.startswith("/") or text.endswith("/") or urlsplit(text).path != text or not text.isascii()):
        raise InputError(name="prefix", value=text, expected="a path such as /bandits")
    return text


@keys.command()
def add(
    url: Url,
    role: Annotated[str, typer.Option(help="client: decide and reward; reader: look; admin: all.")] = "client",
    bandit: Annotated[str | None, typer.Option(help="The only bandit it is for.", show_default="all")] = None,
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Make a key and print it: it cannot be seen again."""
    from rotting.serve.keys import add_key

    with _store(url) as store:
        typer.echo(add_key(store, role, bandit, label))


@keys.command(name="list")
def list_keys(url: Url) -> None:
    """List the keys, without their secrets."""
    from rotting.serve.keys import read_keys

    with _store(url) as store:
        found = read_keys(store)
    table = make_table("id", "role", "bandit", "label", "made", "revoked")
    for key in found.values():
        add_row(table, key.id, key.role, key.bandit or "all", key.label, _day(key.created), _day(key.revoked))
    make_console().print(table)


@keys.command()
def revoke(
    url: Url, key: Annotated[str, typer.Argument(help="The id of a key, see: rotting serve keys list.")]
) -> None:
    """Make a key invalid; servers notice within seconds."""
    from rotting.serve.keys import revoke_key

    with _store(url) as store:
        new = revoke_key(store, key)
    typer.echo(f"Key {key} is revoked." if new else f"Key {key} was revoked already.")


def _day(seconds: float | None) -> str:
    import time

    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


@contextlib.contextmanager
def _store(url: str) -> Iterator[Store]:
    """Yield a store that is prepared."""
    from rotting.bandit import open_store

    store = open_store(url)
    try:
        with store.lock:
            store.prepare()
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def _needs_extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rotting"):
            raise
        raise MissingExtra(
            f"the service needs {literal(str(error.name))}, which is not installed", hint="pip install 'rotting[serve]'"
        ) from error
