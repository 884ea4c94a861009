"""The page, in a real browser: what it says, live, by keyboard, on a telephone, without script, for everybody."""

import contextlib

import pytest

from browser import TELEPHONE, _launch, skip_loudly
from rotting import Bandit, EffFEWA
from serving import bearer, make_key, serving, sqlite


def worn_bandit(url):
    """Make a bandit whose arm "red" wears out and whose arm "<green>" does not."""
    with Bandit.open(url, "hero", EffFEWA(sigma=0.3), ["red", "<green>"], seed=1) as bandit:
        shown = {"red": 0, "<green>": 0}
        for _ in range(40):
            rewards = {}
            for choice in bandit.decide(20):
                shown[choice.arm] += 1
                noise = 0.2 * ((shown[choice.arm] * 7919) % 11 / 10 - 0.5)
                rewards[choice.id] = (0.9 * 0.99 ** shown["red"] if choice.arm == "red" else 0.4) + noise
            bandit.reward_many(rewards)


@contextlib.contextmanager
def browser_page(**settings):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_loudly("the Python package playwright is not installed")
    with sync_playwright() as playwright:
        browser = _launch(playwright.chromium)
        try:
            page = browser.new_context(**settings).new_page()
            complaints = []
            page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on(
                "request", lambda request: complaints.append(request.url) if "127.0.0.1" not in request.url else None
            )
            yield page
            assert complaints == [] or all(each.startswith("data:") for each in complaints), complaints
        finally:
            browser.close()


@pytest.fixture
def shop(sqlite):
    worn_bandit(sqlite)
    with serving(sqlite) as client:
        yield client


def test_the_first_sentence_says_what_is_worn_and_what_is_shown_instead(shop):
    html = shop.get("/bandits/hero").text
    assert "“red” is worn; “&lt;green&gt;” is shown instead" in html
    assert "<green>" not in html
    assert "Nothing needs you." in html
    assert "“red” is worn" in shop.get("/").text
    for header, value in {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}.items():
        assert shop.get("/").headers[header] == value
    assert shop.get("/").headers["content-security-policy"].startswith("default-src 'self'")
    assert "style=" not in html
    assert "<script>" not in html


def retire_red(page):
    page.locator("#change-0 summary").click()
    page.locator("#change-0").get_by_role("button", name="Retire it").click()
    page.locator("#change-0 summary[aria-label='Restore red']").wait_for()


def test_a_visit_in_a_browser_is_live_and_changes_arms(shop):
    """One visit does all of it: starting a browser takes longer than everything else."""
    with browser_page(viewport={"width": 1200, "height": 900}) as page:
        page.goto(str(shop.base_url) + "/bandits/hero")
        page.get_by_text("Live.").wait_for()
        before = page.locator("#decisions tbody tr").first.inner_text()
        shop.post("/v1/bandits/hero/decisions", json={"n": 3})
        page.wait_for_function(
            "before => document.querySelector('#decisions tbody tr').innerText !== before", arg=before, timeout=10_000
        )
        assert "passes the filter" in page.locator("#decisions").inner_text()
        # By keyboard: a new arm, with a confirmation; a name that is markup stays a name.
        page.locator("#add-arm summary").press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.type("<b>blue</b>")
        page.keyboard.press("Enter")
        page.locator("#change-2").wait_for()
        assert "<b>blue</b>" in page.locator("#arms").inner_text()
        retire_red(page)
        assert shop.get("/v1/bandits/hero").json()["arms"][0] == {"arm": "red", "available": False}


@pytest.mark.parametrize(
    "settings",
    [
        {"viewport": TELEPHONE},
        pytest.param({"color_scheme": "dark"}, marks=pytest.mark.soak),
        pytest.param({"java_script_enabled": True}, marks=pytest.mark.soak),
    ],
    ids=["telephone", "dark", "desk"],
)
def test_everybody_can_read_it(shop, settings):
    from axe_playwright_python.sync_playwright import Axe

    with browser_page(**settings) as page:
        for path in ("/bandits/hero", "/", "/reference", "/login"):
            page.goto(str(shop.base_url) + path)
            found = Axe().run(page)
            assert found.violations_count == 0, f"{path}: {found.generate_report()}"
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not page.evaluate(wide), f"{path} scrolls sideways"


def test_it_works_without_script(shop):
    with browser_page(java_script_enabled=False) as page:
        page.goto(str(shop.base_url) + "/bandits/hero")
        retire_red(page)


def test_a_key_becomes_a_cookie_and_forms_are_only_believed_from_our_pages(sqlite):
    worn_bandit(sqlite)
    keys = {role: make_key(sqlite, role) for role in ("client", "reader", "admin")}
    with serving(sqlite) as client:
        assert client.post("/login", data={"key": keys["client"]}).status_code == 403
        assert client.post("/login", data={"key": "nonsense"}).status_code == 403
        outside = client.post("/login", data={"key": keys["reader"], "next": "//evil.example"})
        assert outside.headers["location"] == "/"
        reply = client.post("/login", data={"key": keys["reader"], "next": "/bandits/hero"})
        assert reply.headers["location"] == "/bandits/hero"
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        page = client.get("/bandits/hero").text
        assert "Retire" not in page
        assert client.get("/v1/bandits").status_code == 401  # a cookie is for pages only
        form = {"action": "retire", "arm": "red"}
        assert client.post("/bandits/hero/arms", data=form).status_code == 403
        client.post("/login", data={"key": keys["admin"]})
        assert "Retire" in client.get("/bandits/hero").text
        for evil in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            assert client.post("/bandits/hero/arms", data=form, headers=evil).status_code == 403
        own = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        assert client.post("/bandits/hero/arms", data=form, headers=own).status_code == 303
        client.post("/logout")
        assert client.get("/bandits/hero").status_code == 303
        assert client.get("/v1/bandits/hero", headers=bearer(keys["admin"])).json()["arms"][0]["available"] is False


def test_a_page_is_sent_again_when_it_has_changed(shop):
    first = shop.get("/bandits/hero")
    seen = {"If-None-Match": first.headers["etag"]}
    assert (shop.get("/bandits/hero", headers=seen).status_code, shop.get("/", headers=seen).status_code) == (304, 200)
    shop.patch("/v1/bandits/hero/arms", json={"retire": ["red"]})
    assert "Restore red" in shop.get("/bandits/hero", headers=seen).text


def test_a_bandit_may_be_called_as_the_probe_is(shop):
    """What is made for many is told apart by what it is, not by a name that somebody else may choose."""
    shop.put("/v1/bandits/readyz", json={"arms": ["red"]})
    assert [shop.get(path).status_code for path in ("/bandits/readyz", "/readyz", "/bandits/readyz")] == [200] * 3


def test_mistakes_have_a_page_too(shop):
    reply = shop.get("/bandits/nobody")
    assert (reply.status_code, reply.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "there is no bandit &#x27;nobody&#x27;" in reply.text
    wrong = shop.post("/bandits/hero/arms", data={"action": "delete", "arm": "red"})
    assert (wrong.status_code, wrong.headers["content-type"]) == (422, "text/html; charset=utf-8")
