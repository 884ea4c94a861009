"""The service under a prefix, behind the proxy of the docs: every address that it gives leads back to it."""

import re
import shutil
import subprocess
import warnings
from pathlib import Path

import httpx
import pytest

from rotting.serve.running import greeting
from serving import bearer, free_port, make_bandit, make_key, serving, sqlite, wait_until

PAGE = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text()
CONFIGURATION = """
daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {server}
}}
"""


def addresses(page):
    """Return where links, forms, styles and scripts of a page lead."""
    return set(re.findall(r'(?:href|src|action)="(/[^"]*)"', page))


def visit(browser, key):
    """Log in, look at every page, and change an arm, as a browser does."""
    asked = browser.get("/shop/bandits/hero")
    assert asked.headers["location"] == "/shop/login?next=/bandits/hero"
    form = browser.get(asked.headers["location"]).text
    [following] = re.findall(r'name="next" value="([^"]*)"', form)
    own = {"Origin": str(browser.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    reply = browser.post("/shop/login", data={"key": key, "next": following}, headers=own)
    assert (reply.status_code, reply.headers["location"]) == (303, "/shop/bandits/hero")
    assert "Path=/shop;" in reply.headers["set-cookie"]
    for path in ("/shop/", reply.headers["location"], "/shop/reference"):
        found = addresses(browser.get(path).text)
        assert found
        for each in found - {"/shop/bandits/hero/arms", "/shop/logout"}:
            assert browser.get(each).status_code == 200, each
    changed = browser.post("/shop/bandits/hero/arms", data={"action": "retire", "arm": "red"}, headers=own)
    assert (changed.status_code, changed.headers["location"]) == (303, "/shop/bandits/hero")
    assert browser.get("/shop/openapi.json").json()["servers"] == [{"url": "/shop"}]
    assert browser.post("/shop/logout", headers=own).headers["location"] == "/shop/login"
    assert browser.get("/shop/").status_code == 303
    assert browser.post("/shop/v1/bandits/hero/decisions", headers=bearer(key)).status_code == 201


@pytest.fixture
def prefixed(sqlite):
    make_bandit(sqlite)
    key = make_key(sqlite, "admin")
    with serving(sqlite, prefix="/shop") as client:
        yield client, key


def test_every_address_begins_with_the_prefix(prefixed):
    client, key = prefixed
    visit(client, key)
    assert client.get("/livez").status_code == 200  # probes of this machine need no prefix
    assert "http://x/shop/reference" in greeting(client.service.options, "http://x")


def test_the_proxy_of_the_docs_serves_it(prefixed, tmp_path):
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        warnings.warn("THE PROXY IS NOT TESTED: there is no nginx", stacklevel=2)
        pytest.skip("there is no nginx")
    client, key = prefixed
    [server] = re.findall(r"^```nginx\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    port = free_port()
    server = re.sub(r"^ *(ssl_|server_name).*\n", "", server, flags=re.MULTILINE)  # without TLS
    server = server.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};").replace("location / {", "location /shop/ {")
    server = server.replace("127.0.0.1:8000", client.base_url.netloc.decode())
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=tmp_path, server=server))
    process = subprocess.Popen([program, "-e", f"{tmp_path}/error.log", "-c", str(configuration)])
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0) as browser:

            def answers():
                try:
                    return browser.get("/shop/livez").status_code == 200
                except httpx.TransportError:
                    return False

            wait_until(answers)
            visit(browser, key)
    finally:
        process.terminate()
        process.wait()
