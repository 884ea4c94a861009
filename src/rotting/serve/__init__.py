"""Bandits over HTTP: an API, OpenFeature's remote evaluation, and a page that shows wear-out.

`rotting.serve.app.Service` is the ASGI application, `rotting.serve.running` listens. Needs `rotting[serve]`.
"""
