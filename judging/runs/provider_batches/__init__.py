"""Runs by a provider's Batch API: files of requests, the provider, and the execution of a run."""
