"""Journeys in a real browser. One package: its tests share a browser, and some a server."""
