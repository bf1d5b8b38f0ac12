"""The program's settings, with one address more: the bare view that `bench.serving` compares with."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench._serving_urls"
