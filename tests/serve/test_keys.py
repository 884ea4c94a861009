"""Who may do what: roles, bandits, rates, revoking, and what other sites make a browser send."""

import pytest

from rotting.bandit.store.addresses import open_store
from rotting.errors import BadValue
from rotting.serve import keys
from rotting.serve.access import Access, RateLimit
from rotting.serve.errors import TooManyRequests
from rotting.serve.running import check_listening
from serving import bearer, client, make_bandit, make_key, serving, sqlite, wait_until

# Something that each role is for, with the role.
ASKED = {
    "client": ("POST", "/v1/bandits/hero/decisions", {}),
    "reader": ("GET", "/v1/bandits/hero/report", None),
    "admin": ("PATCH", "/v1/bandits/hero/arms", {"add": []}),
}


@pytest.fixture
def guarded(sqlite):
    make_bandit(sqlite)
    make_bandit(sqlite, "other")
    ring = {role: make_key(sqlite, role) for role in keys.ROLES}
    ring["hero only"] = make_key(sqlite, "client", "hero")
    with serving(sqlite) as client:
        yield client, ring


def test_each_role_allows_what_it_is_for(guarded):
    client, ring = guarded
    for role in keys.ROLES:
        for asked, (method, path, body) in ASKED.items():
            reply = client.request(method, path, json=body, headers=bearer(ring[role]))
            assert (reply.status_code < 300) is (asked == role or role == "admin"), (role, asked, reply.text)
            if reply.status_code >= 300:
                assert reply.status_code == 403
    assert client.get("/metrics", headers=bearer(ring["client"])).status_code == 403
    assert client.get("/metrics", headers={"X-API-Key": ring["reader"]}).status_code == 200


def test_no_key_or_a_wrong_one_is_refused_everywhere_but_for_health(guarded):
    client, ring = guarded
    wrong = ring["admin"][:-1] + ("A" if ring["admin"][-1] != "A" else "B")
    for key in (None, wrong, "nonsense", ring["admin"].replace("rotting_", "")):
        headers = {} if key is None else bearer(key)
        for method, path, body in ASKED.values():
            reply = client.request(method, path, json=body, headers=headers)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert key is None or key not in reply.text
    assert client.post("/ofrep/v1/evaluate/flags/hero").status_code == 401
    assert client.get("/", follow_redirects=False).headers["location"] == "/login?next=/"
    for path in ("/livez", "/readyz", "/openapi.json", "/reference", "/login", "/static/style.css"):
        assert client.get(path).status_code == 200


def test_a_key_for_one_bandit_is_for_no_other(guarded):
    client, ring = guarded
    mine, admin = bearer(ring["hero only"]), bearer(ring["admin"])
    assert client.post("/v1/bandits/hero/decisions", headers=mine).status_code == 201
    assert client.post("/v1/bandits/other/decisions", headers=mine).status_code == 403
    assert client.post("/v1/bandits/nobody/decisions", headers=mine).status_code == 403
    assert client.post("/ofrep/v1/evaluate/flags/other", headers=mine).status_code == 403
    [foreign] = client.post("/v1/bandits/other/decisions", headers=admin).json()["decisions"]
    path = f"/v1/decisions/{foreign['id']}"
    assert client.put(f"{path}/reward", json={"value": 1}, headers=mine).status_code == 403
    assert client.post(f"{path}/shown", headers=mine).status_code == 403
    events = {"events": [{"kind": "reward", "decision": foreign["id"], "value": 1.0}]}
    [result] = client.post("/v1/events", json=events, headers=mine).json()["results"]
    assert result["problem"]["status"] == 403


def test_a_revoked_key_is_refused_and_the_last_one_does_not_open_the_server(sqlite):
    make_bandit(sqlite)
    key = make_key(sqlite, "admin")
    with serving(sqlite, keys_seconds=0.05) as client:
        assert client.get("/v1/bandits", headers=bearer(key)).status_code == 200
        store = open_store(sqlite)
        assert keys.revoke_key(store, key.split("_")[1])
        assert not keys.revoke_key(store, key.split("_")[1])
        wait_until(lambda: client.get("/v1/bandits", headers=bearer(key)).status_code == 401)
        assert client.get("/v1/bandits").status_code == 401
        fresh = keys.add_key(store, "reader")  # rotation
        wait_until(lambda: client.get("/v1/bandits", headers=bearer(fresh)).status_code == 200)
        store.close()


def test_the_database_holds_no_key(sqlite, tmp_path):
    key = make_key(sqlite, "admin")
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert key.split("_")[1].encode() in content  # the id
    assert key.split("_", 2)[2].encode() not in content


def test_without_keys_only_this_machine_is_served(sqlite):
    with pytest.raises(BadValue, match="there are no keys"):
        check_listening(sqlite, "0.0.0.0")
    check_listening(sqlite, "127.0.0.1")
    make_key(sqlite, "client")
    check_listening(sqlite, "0.0.0.0")


def test_without_keys_other_sites_cannot_use_a_browser_on_this_machine(client):
    path = "/v1/bandits/hero/decisions"
    assert client.post(path, headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.post(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.post(path, headers={"Host": "evil.example"}).status_code == 403  # a name that leads here
    for name, nonsense in (("Host", "["), ("Origin", "http://["), ("Origin", "null")):
        assert client.post(path, headers={name: nonsense}).status_code == 403
    own = f"http://{client.base_url.netloc.decode()}"
    assert client.post(path, headers={"Origin": own, "Sec-Fetch-Site": "same-origin"}).status_code == 201


def test_only_named_origins_may_read_replies(sqlite):
    make_bandit(sqlite)
    key = make_key(sqlite, "client")
    with serving(sqlite, origins=("https://shop.example",)) as client:
        path = "/v1/bandits/hero/decisions"
        asked = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
        preflight = client.options(path, headers=asked)
        assert preflight.headers["access-control-allow-origin"] == "https://shop.example"
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        reply = client.post(path, headers={**bearer(key), "Origin": "https://shop.example"})
        assert reply.headers["access-control-allow-origin"] == "https://shop.example"
        assert "access-control-allow-credentials" not in reply.headers
        other = client.options(path, headers={**asked, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_rates_are_limited_per_key():
    limit = RateLimit(10.0)
    for _ in range(20):
        limit.take("a", 100.0)
    with pytest.raises(TooManyRequests):
        limit.take("a", 100.0)
    limit.take("b", 100.0)
    limit.take("a", 100.125)
    with pytest.raises(TooManyRequests):
        limit.take("a", 100.125)


def test_a_limited_key_is_told_to_come_back(sqlite):
    make_bandit(sqlite)
    key = make_key(sqlite, "client")
    with serving(sqlite, rate_limit=1.0) as client:
        replies = [client.post("/v1/bandits/hero/decisions", headers=bearer(key)) for _ in range(4)]
        flag = client.post("/ofrep/v1/evaluate/flags/hero", headers=bearer(key))
    assert 429 in [reply.status_code for reply in replies]
    assert replies[-1].headers["retry-after"] == "1"
    assert (flag.status_code, flag.headers["retry-after"]) == (429, "1")


def test_access_is_closed_unless_told_otherwise():
    assert not Access(open_to_all=False, rate_limit=0, origins=()).is_open
    assert Access(open_to_all=True, rate_limit=0, origins=()).is_open


def test_commands_make_list_and_revoke_keys(sqlite, capsys):
    from rotting.cli import main

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["serve", "keys", *arguments])
        return ended.value.code, capsys.readouterr()

    code, said = run("add", sqlite, "--role", "reader", "--bandit", "hero", "--label", "for the team")
    key = said.out.strip()
    assert (code, key.startswith("rotting_")) == (0, True)
    code, said = run("list", sqlite)
    assert "for the team" in said.out
    assert key.split("_", 2)[2] not in said.out
    assert run("revoke", sqlite, key.split("_")[1])[0] == 0
    assert run("revoke", sqlite, "nobody")[0] == 2
    assert run("add", sqlite, "--role", "king")[0] == 2


def test_serve_refuses_mistakes_with_one_line(sqlite, capsys):
    from rotting.cli import main

    for arguments, says in (
        ([], "--demo"),
        ([sqlite, "--host", "0.0.0.0"], "--host '0.0.0.0' can be reached from elsewhere"),
        ([sqlite, "--processes", "0"], "--processes '0'"),
        ([sqlite, "--meet", "10.0.0.5:8100"], "--meet '10.0.0.5:8100'"),
        (["postgresql://x/y", "--meet", "10.0.0.5"], "--meet '10.0.0.5'"),
        (["mysql://x/y"], "that cannot hold bandits"),
        ([sqlite, "--allow-origin", "example.org"], "--allow-origin 'example.org'"),
        ([sqlite, "--port", "99999"], "--port '99999'"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["serve", *arguments])
        said = capsys.readouterr().err
        assert (ended.value.code, len(said.splitlines())) == (2, 1), said
        assert says in said


def test_metrics_need_a_key_for_all_bandits(sqlite):
    make_bandit(sqlite)
    keys = [make_key(sqlite, role, bandit) for role in ("reader", "admin") for bandit in (None, "hero")]
    with serving(sqlite) as client:
        assert [client.get("/metrics", headers=bearer(key)).status_code for key in keys] == [200, 403, 200, 403]
