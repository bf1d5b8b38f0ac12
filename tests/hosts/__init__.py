"""Worker hosts that share a judge's run: each has a network, a host name and a data folder of its own, and one after the other is lost."""
