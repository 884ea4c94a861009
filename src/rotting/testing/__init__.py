"""Checks that you can run on what you have written: `stores` for places where logs are kept; a store in memory."""
