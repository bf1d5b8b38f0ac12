"""Addresses of the pages, room by room."""

from django.urls import include, path

from reporting.api import token_views

ROOMS = (
    "findings",
    "disagreements",
    "accuracy",
    "table_effect",
    "logic",
    "audits",
    "leaderboard",
    "separability",
    "exports",
    "downloads",
    "corrections",
)

app_name = "reporting"
urlpatterns = [
    *(path("", include(f"reporting.{room}.urls")) for room in ROOMS),
    path("api/v1/token/", token_views.token, name="token"),
]
