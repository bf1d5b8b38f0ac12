"""The address that Prolific sends messages to."""

from django.urls import path

from annotation.recruitment.prolific import views

urlpatterns = [
    path("hooks/prolific/<slug:channel_key>/", views.webhook, name="prolific-webhook"),
]
