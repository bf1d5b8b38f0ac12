"""Endpoints of language models: settings, client, limits, retries, tests.

May use core, jobs, outcomes and models.
"""
