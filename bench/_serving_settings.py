"""The program's settings, with the bare view that `bench.serving` compares with."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench._serving_urls"
