"""Bandits over HTTP: an API, OpenFeature's remote evaluation, and a page that shows wear-out.

`rotting.serve.app.Service` is the ASGI application, `rotting.serve.running` listens. Needs `rotting[serve]`.

| module | what |
|---|---|
| `access` | who may do what: keys, roles, rates, and requests that a browser sends for somebody else |
| `api` | the API: decisions, exposures, rewards, bandits, arms, reports, logs |
| `app` | the ASGI application: finds the route, checks the key, reads the body, calls the handler, shows errors |
| `bandits` | which bandits a database has |
| `demo` | a bandit that lives: visitors come, its arms wear out, rewards arrive late. For `rotting serve --demo` |
| `errors` | what the service itself refuses, before the library sees it |
| `following` | following logs: what the page and the metrics show, kept up to date by reading each event once |
| `health` | what machines ask about the server itself: is it alive, can it write, its metrics, its description |
| `keys` | keys: who may use the service, and for what. The database holds their digests, never the keys |
| `metrics` | what an operator watches, for Prometheus |
| `ofrep` | OpenFeature's remote evaluation protocol (OFREP): a bandit is a flag whose variants are its arms |
| `openapi` | the description of the API (OpenAPI 3.1), made of the routes and of the bodies that check requests |
| `overview` | what the page says of a bandit |
| `problems` | errors as replies: RFC 9457 problem details, with the texts and the fields of the library's errors |
| `protocol` | HTTP connections that wait neither for ever nor for everything |
| `requests` | bodies of requests and replies |
| `routing` | routes: what is served where, to whom, and with which bodies |
| `running` | listening: uvicorn with our limits, one process or several |
| `writer` | writing: requests of many clients, which the bandits' queue commits together |
"""
