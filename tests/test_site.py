"""The site: built without a warning, without a network, complete, and readable; every shell example is run.

Run by `make docs` only: it needs MkDocs, which `make test` does without.
"""

import contextlib
import functools
import http.server
import importlib
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
import zlib
from pathlib import Path

import pytest

from browser import _launch, open_page
from documented import PAGES, ROOT, blocks, commands, is_server, prepare, reason_not_to_run, smaller
from rotting._public import public_names

pytestmark = pytest.mark.site
LOOKED_AT = ("index", "tutorials/engineer", "algorithms", "reference/policies")
TABLES = ("gallery", "scaling", "new_problem", "reference/commands")
DECISION = re.compile(r"\b[0-9a-f]{10}-\d+-[0-9a-f]{16}\b")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder with the site, built as `make docs` builds it."""
    pytest.importorskip("mkdocs", reason="the site is not built: MkDocs is not installed (make docs installs it)")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def entries(site):
    """Return the names that have an entry in the reference."""
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}


def test_every_public_name_has_an_entry(site):
    found, missing = entries(site), []
    names = {f"{module}.{name}" for name, module in public_names().items() if module != f"rotting.{name}"}
    parts = [module for name, module in public_names().items() if module == f"rotting.{name}"]
    names |= {f"{part}.{name}" for part in parts for name in getattr(importlib.import_module(part), "__all__", ())}
    for name in sorted(names):
        module, _, last = name.rpartition(".")
        value = getattr(importlib.import_module(module), last)
        own = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
        if not {name, own} & found:
            missing.append(name)
    assert len(names) > 100
    assert missing == []


def test_workflows_and_templates_can_be_read():
    yaml = pytest.importorskip("yaml")
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / "CITATION.cff"]
    assert len(files) == 6
    for file in files:
        assert isinstance(yaml.safe_load(file.read_text()), dict), file


def test_links_and_pictures_lead_somewhere(site):
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html") if page.name != "404.html"}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    dead = []
    for page, text in pages.items():
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (anchor and file in anchors and anchor not in anchors[file] | {"__top"}):
                dead.append(f"{page.relative_to(site)}: {target}")
    assert dead == []


@pytest.mark.parametrize("name", LOOKED_AT)
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_pages_on_a_telephone(site, name, colours):
    opinion = open_page(site / f"{name}.html", colours)
    assert opinion.complaints == []
    assert opinion.broken_images == []
    assert not opinion.scrolls_sideways
    assert [address for address in opinion.requests if not address.startswith("file:")] == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_accessibility(site, colours, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with a_browser() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
        for name in LOOKED_AT if colours == "light" else (*LOOKED_AT, *TABLES):
            page.goto((site / f"{name}.html").as_uri())
            found = axe.Axe().run(page).response["violations"]
            assert [(name, one["id"], one["nodes"][0]["html"]) for one in found] == []


@pytest.fixture
def address(site, request):
    """Return where the site is found: as files, or behind a server on this machine."""
    if request.param == "files":
        yield site.as_uri()
        return
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("address", ["files", "server"], indirect=True)
def test_search_works_without_a_network(address):
    with a_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}/index.html")
        page.click("input.md-search__input")
        page.keyboard.type("discounted", delay=20)
        page.wait_for_selector(".md-search-result__item", timeout=20_000)
        assert "DiscountedUCB" in page.inner_text(".md-search-result__list")


@contextlib.contextmanager
def a_browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = _launch(playwright.chromium)
        yield browser
        browser.close()


class Terminal:
    """Runs the commands of a page, one after the other, in one folder."""

    def __init__(self, folder, port):
        self.folder, self.port, self.said = folder, port, ""
        self.server = None
        shim = folder / "bin" / "rotting"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m rotting "$@"\n')
        shim.chmod(0o755)
        path = f"{shim.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = os.environ | {"PATH": path, "COLUMNS": "200"}

    def run(self, command):
        command = command.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        if is_server(command):
            self.serve(re.sub(r" --port \d+", "", command))
            return
        decision = DECISION.search(self.said)
        if decision:
            command = re.sub(r"\bID\b", decision[0], DECISION.sub(decision[0], command))
        elif key := re.search(r"^\W*([0-9a-f]{8,})\b", self.said, re.MULTILINE):
            command = re.sub(r"\bID$", key[1], command)
        try:
            ended = self.start(smaller(command)).communicate("y\n", timeout=1800)  # yes to every question
        finally:
            self.last.kill()  # if it hangs, it ends with the test
        self.said = "".join(ended)
        assert self.last.returncode == 0, f"{command}\n{self.said}"
        assert not (command.startswith("curl") and '"status":4' in self.said), f"{command}\n{self.said}"

    def start(self, command):
        self.last = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.last

    def serve(self, command):
        """Start a server, and wait until it answers."""
        self.close()
        self.server = self.start(f"exec {command} --port {self.port}")
        for _ in range(300):
            assert self.server.poll() is None, self.server.communicate()
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2).close()
                return
            time.sleep(0.2)
        raise AssertionError(f"{command} does not answer")

    def close(self):
        if self.server is not None:
            self.server.terminate()
            self.server.communicate(timeout=60)
            self.server = None


WITH_SHELL = [page for page in PAGES if any(block.language == "sh" and not block.key for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_SHELL, ids=[str(page.relative_to(ROOT)) for page in WITH_SHELL])
def test_shell_examples_run(page, tmp_path, monkeypatch, capfd):
    from serving import free_port

    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    terminal, names = Terminal(tmp_path, free_port()), {"__name__": "__main__"}
    later = "".join(line for block in blocks(page) for line in block.text if block.language == "sh")
    try:
        for block in blocks(page):
            if block.language == "python" and not block.key and ".db" in later:
                exec(compile(block.text, page.name, "exec"), names)  # makes what the commands speak of
            for command in commands(block.text) if block.language == "sh" and not block.key else []:
                if reason_not_to_run(command) is None:
                    terminal.run(command)
    finally:
        terminal.close()
