"""Checks that you can run on what you have written yourself: `stores` for places where logs are kept."""
