"""Addresses of the pages, room by room."""

from django.urls import include, path

app_name = "judging"
urlpatterns = [
    *(path("", include(f"judging.{room}.urls")) for room in ("endpoints", "runs", "review", "tables")),
    path("studies/<slug:slug>/prompts/", include("judging.wordings.urls")),
    path("studies/<slug:slug>/aspects/", include("judging.aspects.urls")),
    path("studies/<slug:slug>/judges/tuning/", include("judging.tuning.urls")),
    path("studies/<slug:slug>/generate/", include("judging.generation.urls")),
]
