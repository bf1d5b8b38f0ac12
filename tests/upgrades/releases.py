"""The last migrations of each release from 0.3.0 on, which is the first: `{"0.3.0": {"annotation": "0001_initial_…", …}}`."""

RELEASES: dict[str, dict[str, str]] = {}
