"""Bandits over HTTP: an API, OpenFeature's remote evaluation, and a page that shows wear-out.

`rotting.serve.app.Application` is the ASGI application, `rotting.serve.running` listens. Needs `rotting[serve]`.

| module | what |
|---|---|
| `access` | who may do what: keys, roles, rates, and requests that a browser sends for somebody else |
| `answering` | the end of the process that writes: it carries out what others ask, and answers what they relay |
| `api` | the API: decisions, exposures, rewards, bandits, arms, reports, logs |
| `app` | the ASGI application: Starlette with all routes, around one hot path |
| `bandits` | which bandits a database has |
| `demo` | a bandit that lives: visitors come, its arms wear out, rewards arrive late. For `rotting serve --demo` |
| `errors` | what the service itself refuses, before the library sees it |
| `following` | following logs: what the page and the metrics show, kept up to date by reading each event once |
| `front` | a process that speaks HTTP, and asks the one that writes |
| `health` | what machines ask about the server itself: is it alive, can it write, its metrics, its description |
| `hosts` | several hosts on one PostgreSQL: each bandit has an owner, to whom the others forward what is asked of it |
| `keys` | keys: who may use the service, and for what. The database holds their digests, never the keys |
| `lanes` | work beside the event loop: threads with connections of their own, and what is made for many at once |
| `link` | between processes: those that speak HTTP ask the one that writes, in messages that hold whatever waits |
| `metrics` | what an operator watches, for Prometheus. Numbers of bandits come from their logs, and survive restarts |
| `ofrep` | OpenFeature's remote evaluation protocol (OFREP): a bandit is a flag whose variants are its arms |
| `openapi` | the description of the API (OpenAPI 3.1), made of the routes and of the bodies that check requests |
| `overview` | what the page says of a bandit: which arms are worn, what is shown instead, what needs somebody |
| `problems` | replies, and errors as replies: RFC 9457 problem details, with texts and fields of the library's errors |
| `protocol` | HTTP connections that do not wait for ever: a request's head has limits of time and size |
| `requests` | bodies of requests and replies: one definition that checks what arrives, and describes the API |
| `routing` | routes: what is served where, to whom, and with which bodies. They answer requests and describe the API |
| `running` | listening: uvicorn with our limits, processes that are kept running, and what is said when they answer |
| `service` | what every process holds that speaks HTTP, and its life from the start to the end |
| `together` | what is asked in one turn of the event loop goes to the database together: one call for each bandit |
| `writer` | the process that writes: bandits, their queue, and all that is made once for everybody, such as pages |
"""
