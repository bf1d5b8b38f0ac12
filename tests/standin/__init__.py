"""A local OpenAI-compatible server for tests and benchmarks: one process, on a free loopback port.

`python -m tests.standin --help` says what it can be told; `tests.standin.process.running` starts it from a test.
"""
