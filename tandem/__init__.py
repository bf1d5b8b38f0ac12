"""What programs import to use a Tandem server: `tandem.client`. It needs nothing of the server's code but httpx2."""
