"""Addresses of the pages about sampled texts, below one study's."""

from django.urls import path

from judging.views import generate

urlpatterns = [
    path("", generate.generate, name="generate"),
    path("estimate/", generate.estimate, name="estimate-generating"),
    path("start/", generate.start, name="start-generating"),
    path("systems.json", generate.systems_file, name="sampled-systems"),
]
