"""The API: what each request does to the log, and what is answered."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor

from rotting import Bandit, EffFEWA
from serving import ARMS, client, make_bandit, serving, sqlite


def decide(client, **body):
    reply = client.post("/v1/bandits/hero/decisions", json=body)
    assert reply.status_code == 201, reply.text
    return reply.json()["decisions"]


def test_what_is_answered_is_in_the_log(client):
    first, second = decide(client, n=2)
    assert (first["arm"], first["why"], first["probability"]) == ("red", "never tried", 1.0)
    assert client.put(f"/v1/decisions/{first['id']}/reward", json={"value": 1}).status_code == 201
    assert client.post(f"/v1/decisions/{second['id']}/shown").status_code == 204
    with Bandit.open(client.service.options.url, "hero") as bandit:
        assert bandit.history().kind.tolist() == ["added"] * 3 + ["decided"] * 2 + ["rewarded", "shown"]
        assert bandit.verify().rewards == 1


def test_a_decision_needs_no_body(client):
    assert len(client.post("/v1/bandits/hero/decisions").json()["decisions"]) == 1


def test_a_reward_is_new_then_known_then_contradicted(client):
    [choice] = decide(client)
    path = f"/v1/decisions/{choice['id']}/reward"
    replies = [client.put(path, json={"value": value}) for value in (1.0, 1, 0.5)]
    assert [reply.status_code for reply in replies] == [201, 200, 409]
    assert [reply.json().get("new") for reply in replies] == [True, False, None]
    problem = replies[2].json()
    assert replies[2].headers["content-type"] == "application/problem+json"
    assert problem["type"] == "/reference#RewardConflict"
    assert "already has the reward 1.0" in problem["detail"]


def test_a_key_gives_the_same_decisions_also_after_a_restart(sqlite):
    make_bandit(sqlite)
    ask = {"url": "/v1/bandits/hero/decisions", "json": {"n": 3}, "headers": {"Idempotency-Key": "request-7"}}
    with serving(sqlite) as client:
        first = client.post(**ask).json()
        again = client.post(**ask).json()
        other = client.post("/v1/bandits/hero/decisions", json={"n": 2}, headers=ask["headers"])
    with serving(sqlite) as client:
        later = client.post(**ask).json()
    ids = [[choice["id"] for choice in reply["decisions"]] for reply in (first, again, later)]
    assert ids[0] == ids[1] == ids[2]
    assert other.status_code == 409
    with Bandit.open(sqlite, "hero") as bandit:
        assert bandit.verify().decisions == 3


def test_many_events_have_a_result_each(client):
    one, two = decide(client, n=2)
    events = [
        {"kind": "shown", "decision": one["id"]},
        {"kind": "reward", "decision": one["id"], "value": 1.0},
        {"kind": "reward", "decision": one["id"], "value": 0.0},
        {"kind": "reward", "decision": "nonsense", "value": 0.0},
        {"kind": "shown", "decision": one["id"]},
        {"kind": "reward", "decision": two["id"], "value": 0.5},
    ]
    results = client.post("/v1/events", json={"events": events}).json()["results"]
    assert [result["status"] for result in results] == ["new", "new", "refused", "refused", "known", "new"]
    assert [results[place]["problem"]["status"] for place in (2, 3)] == [409, 404]


def test_an_invalid_event_does_not_stop_the_others(client):
    [choice] = decide(client)
    good = {"kind": "reward", "decision": choice["id"], "value": 1.0}
    invalid = [{**good, "value": 1e200}, {**good, "value": "1"}, {**good, "kind": "lost"}, {"kind": "reward"}, 7, None]
    results = client.post("/v1/events", json={"events": [*invalid, good]}).json()["results"]
    assert [result.get("problem", {}).get("status") for result in results] == [422] * 6 + [None]
    assert results[-1] == {"status": "new"}
    for whole in ({}, {"events": []}, {"events": [good] * 1001}, {"events": [good], "more": 1}):
        assert client.post("/v1/events", json=whole).status_code == 422


def test_bandits_are_made_shown_and_changed(client):
    settings = {"arms": ["a", "b"], "policy": "EffFEWA(alpha=0.1)", "epsilon": 0.1, "count": "shown", "seed": 3}
    path = "/v1/bandits/a%2Fb%20%25"  # a name with a slash, a space and a percent sign
    made = client.put(path, json=settings)
    assert (made.status_code, made.json()["bandit"]) == (201, "a/b %")
    assert made.json()["settings"]["epsilon"] == 0.1
    assert client.put(path, json=settings).status_code == 200
    other = client.put(path, json={**settings, "epsilon": 0.2})
    assert (other.status_code, other.json()["hint"]) == (409, "leave it out, or change it: PATCH this address")
    for arms in (["a"], ["a", "b", "c"]):
        problem = client.put(path, json={**settings, "arms": arms}).json()
        assert (problem["status"], problem["type"], problem["name"]) == (409, "/reference#SettingsConflict", "arms")
    assert client.get("/v1/bandits").json() == {"bandits": ["a/b %", "hero"]}
    changed = client.patch(f"{path}/arms", json={"add": ["c"], "retire": ["a"]}).json()
    assert changed["arms"] == [
        {"arm": "a", "available": False},
        {"arm": "b", "available": True},
        {"arm": "c", "available": True},
    ]
    assert client.post(f"{path}/decisions", json={"among": ["a"]}).status_code == 409
    assert client.patch(f"{path}/arms", json={"retire": ["nobody"]}).status_code == 404
    assert client.patch(f"{path}/arms", json={"add": ["c"]}).status_code == 422
    assert client.get(path).json() == changed
    settings = client.patch(path, json={"epsilon": 0.3, "reward_range": [0, 1]}).json()["settings"]
    assert (settings["epsilon"], settings["reward_range"]) == (0.3, [0.0, 1.0])
    assert client.patch(path, json={"epsilon": 2}).status_code == 422
    [choice] = client.post(f"{path}/decisions").json()["decisions"]
    forged = client.put(f"/v1/decisions/{choice['id']}/reward", json={"value": 1000})
    assert (forged.status_code, forged.json()["type"]) == (422, "/reference#RewardOutOfRange")


def test_rewards_may_be_without_bounds(client):
    made = client.put("/v1/bandits/wide", json={"arms": ["a", "b"], "reward_range": "any"})
    assert (made.status_code, made.json()["settings"]["reward_range"]) == (201, [-1e100, 1e100])
    changed = [client.patch("/v1/bandits/wide", json={"reward_range": each}) for each in ([0, 1], "any", "all")]
    assert [each.status_code for each in changed] == [200, 200, 422]


def test_one_of_those_who_make_a_bandit_at_once_has_made_it(client):
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(client.put, "/v1/bandits/new", json={"arms": ["a", "b"]}) for _ in range(8)]
    assert sorted(each.result().status_code for each in asked) == [200] * 7 + [201]


def test_a_bandit_that_was_made_again_elsewhere_is_served_and_counted(client):
    url, service = client.service.options.url, client.service
    decide(client)
    client.wait_for(service.follower.look())  # afterwards, nothing more is to be read of it
    Bandit.delete(url, "hero")
    Bandit.open(url, "hero", EffFEWA(sigma=0.5), ["black", "white"]).close()
    client.wait_for(service.directory.refresh(at_once=True))
    client.wait_for(service.follower.look())
    metrics = client.get("/metrics").text
    assert 'arm="black"' in metrics
    assert 'arm="red"' not in metrics
    assert decide(client)[0]["arm"] == "black"


def test_the_report_is_that_of_the_library(client):
    for choice in decide(client, n=30):
        client.put(f"/v1/decisions/{choice['id']}/reward", json={"value": 0.25})
    with Bandit.open(client.service.options.url, "hero") as bandit:
        assert client.get("/v1/bandits/hero/report").json() == json.loads(json.dumps(bandit.report().to_dict()))


def test_the_log_is_read_in_pages_and_as_lines(client):
    choices = decide(client, n=5, among=["red", "blue"])
    client.put(f"/v1/decisions/{choices[0]['id']}/reward", json={"value": 2.5})
    page = client.get("/v1/bandits/hero/events", params={"after": 3, "limit": 4}).json()
    assert [event["seq"] for event in page["events"]] == [4, 5, 6, 7]
    assert page["next"] == 7
    rest = client.get("/v1/bandits/hero/events", params={"after": page["next"]}).json()
    assert rest["next"] is None
    assert rest["events"][-1]["decision"] == choices[0]["id"]
    assert rest["events"][-1]["reward"] == 2.5
    lines = client.get("/v1/bandits/hero/events", params={"format": "jsonl"}).text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 10))
    rows = list(csv.DictReader(io.StringIO(client.get("/v1/bandits/hero/events?format=csv&limit=8").text)))
    assert [row["kind"] for row in rows] == ["added"] * 3 + ["decided"] * 5
    assert json.loads(rows[3]["among"]) == ["red", "blue"]
    assert [row["arm"] for row in rows[:3]] == ARMS


def test_probabilities_are_filled_in_and_experiments_run(client):
    made = {"policy": "BetaThompson()", "arms": ["red", "blue"], "reward_range": [0, 1]}
    assert client.put("/v1/bandits/drawn", json=made).status_code == 201
    for _ in range(3):
        for choice in client.post("/v1/bandits/drawn/decisions", json={"n": 2}).json()["decisions"]:
            client.put(f"/v1/decisions/{choice['id']}/reward", json={"value": 1.0})
    lines = client.get("/v1/bandits/drawn/events", params={"format": "jsonl", "replays": 50}).text.splitlines()
    told = [event["probability"] for event in map(json.loads, lines) if event["kind"] == "decided"]
    assert len(told) == 6
    assert all(1 / 51 <= probability <= 1.0 for probability in told)
    assert client.get("/v1/bandits/drawn/events", params={"replays": 50}).status_code == 422
    experiment = {"until": "2100-01-01", "rest": ["red"], "rest_until": "2099-01-01"}
    assert client.patch("/v1/bandits/drawn", json={"experiment": experiment}).status_code == 200
    choice = client.post("/v1/bandits/drawn/decisions", json={}).json()["decisions"][0]
    assert (choice["arm"], choice["probability"]) == ("blue", 1.0)


MISTAKES = [
    ("POST", "/v1/bandits/nobody/decisions", {}, 404, "no bandit 'nobody'"),
    ("POST", "/v1/bandits/hero/decisions", {"n": 0}, 422, "`float` >= 1.0 - at `$.n`"),
    ("POST", "/v1/bandits/hero/decisions", {"n": 1001}, 422, "<= 1000"),
    ("POST", "/v1/bandits/hero/decisions", {"m": 1}, 422, "unknown field `m`"),
    ("POST", "/v1/bandits/hero/decisions", {"among": []}, 422, "length >= 1"),
    ("POST", "/v1/bandits/hero/decisions", {"among": ["rad"]}, 404, "did you mean 'red'?"),
    ("PUT", "/v1/decisions/x-1-y/reward", {"value": 1}, 404, "no bandit took a decision 'x-1-y'"),
    ("PUT", "/v1/decisions/x-1-y/reward", {"value": "1"}, 422, "Expected `float`"),
    ("PUT", "/v1/decisions/x-1-y/reward", {}, 422, "missing required field `value`"),
    ("PUT", "/v1/bandits/new", {"arms": ["a", "a"]}, 422, "given twice"),
    ("PUT", "/v1/bandits/new", {"arms": ["a"], "policy": "Nonsense()"}, 422, "Nonsense"),
    ("PUT", "/v1/bandits/%20", {"arms": ["a"]}, 422, "cannot be seen"),
    ("GET", "/v1/bandits/hero/events?limit=x", None, 422, "?limit=x: Expected `int`"),
    ("GET", "/v1/bandits/hero/events?limit=null", None, 422, "?limit=null: Expected `int`"),
    ("GET", "/v1/bandits/hero/events?colour=x", None, 422, "?colour=x: Object contains unknown field `colour`"),
    ("GET", "/v1/bandits/hero/", None, 404, "nothing at this address"),
    ("GET", "/v1/bandits/%ff", None, 400, "not UTF-8"),
    ("DELETE", "/v1/bandits/hero", None, 405, "expected GET, PATCH, PUT"),
]


def test_mistakes_are_refused_in_the_words_of_the_library(client):
    for method, path, body, status, says in MISTAKES:
        reply = client.request(method, path, json=body) if body is not None else client.request(method, path)
        assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json"), path
        assert reply.json()["status"] == status
        assert says in reply.json()["detail"]


def test_what_is_no_json_is_refused(client):
    path = "/v1/bandits/hero/decisions"
    kind = {"Content-Type": "application/json"}
    assert client.post(path, content=b"{", headers=kind).status_code == 400
    for strange in (b'{"\xff": 1}', b'{"among": ["\xff"]}', b"\xff\xfe{", b'{"among": ["\\ud800"]}', b"\x00"):
        reply = client.post(path, content=strange, headers=kind)
        assert (reply.status_code, reply.json()["type"]) == (400, "/reference#BadRequest"), strange
    assert client.post(path, content=b"[" * 100_000, headers=kind).status_code == 422
    assert client.post(path, content=b"n=1", headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.post(path, content=b" " * (1 << 20) + b"{}", headers=kind).status_code == 413
    chunks = (b" " * 65536 for _ in range(20))  # no Content-Length
    assert client.post(path, content=chunks, headers=kind).status_code == 413


def test_headers_that_cannot_be_followed_are_refused(client):
    path = "/v1/bandits/hero/decisions"
    twice = client.post(path, headers=[("Idempotency-Key", "one"), ("Idempotency-Key", "two")])
    assert (twice.status_code, twice.json()["detail"]) == (400, "the header idempotency-key is given more than once")
    encoded = [client.post(path, json={}, headers={"Content-Encoding": each}) for each in ("gzip", "br", "Identity")]
    assert [reply.status_code for reply in encoded] == [415, 415, 201]


def test_health_and_description_need_no_key_and_metrics_count(client):
    assert client.get("/livez").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok"}
    decide(client, n=4)
    assert client.get("/v1/bandits/nobody").status_code == 404
    metrics = client.get("/metrics").text
    route = 'method="POST",route="/v1/bandits/{bandit}/decisions",status="201"'
    assert f"rotting_request_seconds_count{{{route}}} 1.0" in metrics
    assert 'rotting_refused_total{reason="UnknownBandit"} 1.0' in metrics
    assert "rotting_commit_requests_sum 1.0" in metrics
    client.wait_for(client.service.follower.look())
    assert 'rotting_decisions_total{arm="red",bandit="hero"}' in client.get("/metrics").text
    assert "/v1/bandits/{bandit}/decisions" in client.get("/openapi.json").json()["paths"]
