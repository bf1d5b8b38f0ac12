"""The settings, with the baseline view of `bench.serving` added."""

import sys

from config.settings import *  # noqa: F403

ROOT_URLCONF = PAGE_URLCONF = "bench._serving_urls"
# Django's admin and the REST framework load these where they are installed: with the tests and the documentation, not on
# a server.
sys.modules.update(dict.fromkeys(["docutils", "pygments", "requests"]))  # type: ignore[arg-type]
