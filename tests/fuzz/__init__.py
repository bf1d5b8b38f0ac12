"""Requests and texts that nobody would send, in numbers: `make fuzz`."""
