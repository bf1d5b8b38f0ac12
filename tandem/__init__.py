"""The client of a Tandem server, for other programs. It only needs httpx2."""
