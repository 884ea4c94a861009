"""Requests that make no sense, ten thousand of them: each is refused with a reason, and nothing is left of it."""

import random
import string

import httpx
import pytest
from test_durability import _resident, server_process

from rotting import Bandit
from serving import free_port, make_bandit, sqlite

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
WORDS = [
    "v1",
    "bandits",
    "hero",
    "decisions",
    "shown",
    "reward",
    "events",
    "arms",
    "settings",
    "report",
    "ofrep",
    "flags",
]
WORDS += ["evaluate", "..", "%00", "%2e%2e", "metrics", "openapi.json", "%ff", "bandits%2Fhero", "page", "login", ""]
PATHS = ["/v1/bandits/hero/decisions", "/v1/bandits/hero", "/v1/bandits/hero/arms", "/v1/events", "/v1/bandits/other"]
PATHS += [
    "/v1/decisions/{id}/reward",
    "/v1/decisions/{id}/shown",
    "/v1/bandits/hero/report",
    "/ofrep/v1/evaluate/flags/hero",
]
PATHS += ["/v1/bandits/hero/events?after=-1", "/v1/bandits/hero/events?limit=1e9", "/v1/bandits/hero/events?format=x"]
FIELDS = ["n", "among", "value", "kind", "decision", "arms", "add", "retire", "policy", "epsilon", "context", "events"]
TYPES = ["application/json", "text/plain", "application/json; charset=utf-16", "", "multipart/form-data"]


def some_value(dice, depth=0):
    """Return JSON as nobody would send it."""
    kind = dice.randrange(9 if depth < 3 else 7)
    if kind < 7:
        number = dice.choice(["1e999", "-1", "0", "NaN", "Infinity", "9" * 40, "1.5", "-0.0", "00", "0x10"])
        text = "".join(dice.choices(string.printable + "\u00e9\ud83d", k=dice.randrange(30)))
        plain = ["null", "true", number, number, '"' + text.replace('"', "") + '"', '"\\ud800"', '"' + "x" * 2000 + '"']
        return plain[kind]
    if kind == 7:
        return "[" + ",".join(some_value(dice, depth + 1) for _ in range(dice.randrange(4))) + "]"
    fields = (f'"{dice.choice(FIELDS)}":{some_value(dice, depth + 1)}' for _ in range(dice.randrange(4)))
    return "{" + ",".join(fields) + "}"


def some_body(dice):
    content = some_value(dice).encode("utf-8", "surrogatepass")
    match dice.randrange(6):
        case 0:
            return content[: dice.randrange(len(content) + 1)]
        case 1:
            return dice.randbytes(dice.randrange(100))
        case 2:
            return b"[" * dice.choice([10, 5000])
        case _:
            return content


def some_request(dice, http, decision):
    path = dice.choice(PATHS).format(id=dice.choice([decision, "x", "1-2-3", "a" * 300]))
    if dice.random() < 0.3:
        path = "/" + "/".join(dice.choices(WORDS, k=dice.randrange(1, 7)))
    headers = {"Content-Type": dice.choice(TYPES)}
    if dice.random() < 0.2:
        headers["Idempotency-Key"] = "".join(
            dice.choices(string.ascii_letters + '!"#%&;=@', k=dice.choice([0, 5, 300]))
        )
    if dice.random() < 0.1:
        headers["Authorization"] = dice.choice(["Bearer", "Bearer x", "Basic eDp5", "Bearer " + "x" * 500])
    return http.build_request(dice.choice(METHODS), path, content=some_body(dice), headers=headers)


@pytest.mark.soak
def test_ten_thousand_requests_that_make_no_sense(sqlite):
    make_bandit(sqlite)
    port, dice, seen, sizes = free_port(), random.Random(5), {}, []
    with server_process(sqlite, port) as process:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as http:
            decision = http.post("/v1/bandits/hero/decisions").json()["decisions"][0]["id"]
            for number in range(10_000):
                request = some_request(dice, http, decision)
                reply = http.send(request)
                seen[reply.status_code] = seen.get(reply.status_code, 0) + 1
                assert reply.status_code < 500, (request.method, request.url, request.content, reply.text)
                assert "Traceback" not in reply.text
                if number % 1000 == 999:
                    sizes.append(_resident(process.pid))
        process.terminate()
        _, complaints = process.communicate(timeout=60)
    assert "Traceback" not in complaints
    assert max(sizes[5:]) < 1.1 * max(sizes[:5])
    assert sum(number for status, number in seen.items() if status >= 400) > 5000
    with Bandit.open(sqlite, "hero") as bandit:
        bandit.verify()
