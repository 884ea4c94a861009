"""OpenFeature's remote evaluation protocol, as its documents and its real clients want it."""

import pytest

from rotting import Bandit
from serving import bearer, make_bandit, make_key, serving, sqlite


@pytest.fixture
def flags(sqlite):
    make_bandit(sqlite)
    make_bandit(sqlite, "careful", count="shown")
    make_bandit(sqlite, "with space")
    key = make_key(sqlite, "client")
    with serving(sqlite) as client:
        client.headers.update(bearer(key))
        yield client


def test_a_python_client_of_openfeature_decides_and_the_decision_is_rewarded(flags):
    from openfeature import api
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext

    key = flags.headers["authorization"]
    provider = OFREPProvider(str(flags.base_url), headers_factory=lambda: {"Authorization": key})
    api.set_provider(provider, domain="test")
    client = api.get_client("test")
    found = client.get_string_details("hero", "fallback", EvaluationContext("visitor 17", {"country": "FR"}))
    assert (found.value, found.variant, found.reason, found.error_code) == ("red", "red", "SPLIT", None)
    decision = found.flag_metadata["decisionId"]
    assert found.flag_metadata["targetingKeyUsed"] is False
    assert flags.put(f"/v1/decisions/{decision}/reward", json={"value": 1.0}).status_code == 201
    missing = client.get_string_details("nobody", "fallback")
    assert (missing.value, missing.error_code) == ("fallback", "FLAG_NOT_FOUND")
    assert client.get_boolean_value("hero", False) is False  # a wrong type gives the default
    api.clear_providers()
    with Bandit.open(flags.service.options.url, "hero") as bandit:
        assert bandit.verify().rewards == 1


def test_replies_are_as_the_protocol_says(flags):
    path = "/ofrep/v1/evaluate/flags/hero"
    good = flags.post(path, json={"context": {"targetingKey": "x", "age": 3, "nested": {"a": [1]}}, "more": 1})
    assert set(good.json()) == {"key", "reason", "variant", "value", "metadata"}
    assert flags.post(path).status_code == 200  # no body at all
    broken = flags.post(path, content=b"{", headers={"Content-Type": "application/json"})
    assert (broken.status_code, broken.json()["errorCode"]) == (400, "PARSE_ERROR")
    wrong = flags.post(path, json={"context": {"targetingKey": 17}})
    assert (wrong.status_code, wrong.json()["errorCode"]) == (400, "INVALID_CONTEXT")
    missing = flags.post("/ofrep/v1/evaluate/flags/nobody", json={})
    assert (missing.status_code, missing.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")
    assert missing.json()["errorDetails"]
    nobody = flags.post(path, headers={"Authorization": "Bearer nonsense"})
    assert (nobody.status_code, nobody.content) == (401, b"")


def test_a_bulk_evaluation_counts_only_what_will_be_shown(flags):
    path = "/ofrep/v1/evaluate/flags"
    every = flags.post(path, json={"context": {"targetingKey": "x"}})
    assert [flag["key"] for flag in every.json()["flags"]] == ["careful"]
    tag = every.headers["etag"]
    again = flags.post(path, json={"context": {"targetingKey": "x"}}, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    named = flags.post(path, json={"context": {"flags": ["hero", "nobody", "hero", "with space"]}})
    assert [flag["key"] for flag in named.json()["flags"]] == ["hero"]
    with Bandit.open(flags.service.options.url, "careful") as bandit:
        assert bandit.verify().decisions == 1
    admin = make_key(flags.service.options.url, "admin")
    with serving(flags.service.options.url) as other:
        other.patch("/v1/bandits/careful/arms", json={"retire": ["red"]}, headers=bearer(admin))
    changed = flags.post(path, json={"context": {"targetingKey": "x"}}, headers={"If-None-Match": tag})
    assert changed.status_code == 200  # the arms are no longer the same


def test_a_body_that_is_not_utf8_is_a_parse_error(flags):
    for path in ("/ofrep/v1/evaluate/flags/hero", "/ofrep/v1/evaluate/flags"):
        reply = flags.post(path, content=b'{"context": {"\xff": 1}}', headers={"Content-Type": "application/json"})
        assert (reply.status_code, reply.json()["errorCode"]) == (400, "PARSE_ERROR")
