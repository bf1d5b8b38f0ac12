"""Addresses of the pages, room by room. What an annotator's browser asks for most comes first."""

from django.urls import include, path

ROOMS = (
    "rating",
    "members",
    "recruitment",
    "privacy",
    "batches",
    "monitoring",
    "planning",
)

urlpatterns = [path("", include(f"annotation.{room}.urls")) for room in ROOMS]
