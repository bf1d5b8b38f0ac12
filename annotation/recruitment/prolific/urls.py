"""The address that Prolific sends messages to."""

from django.urls import path

from annotation.recruitment.prolific import updates

urlpatterns = [
    path("hooks/prolific/<slug:channel_key>/", updates.webhook, name="prolific-webhook"),
]
