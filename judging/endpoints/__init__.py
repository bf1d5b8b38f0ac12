"""Endpoints of language models: settings, credentials, the client, rate limits, retries, tests of what they support.

May use core, jobs, outcomes and models.
"""
