"""The settings, with the baseline view of `bench.serving` added."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench._serving_urls"
