"""Addresses that Mechanical Turk's window calls."""

from django.urls import path

from annotation.recruitment.mturk import frames

urlpatterns = [
    path("mturk/<slug:channel_key>/status/<str:token>/", frames.status, name="mturk-status"),
    path("mturk/<slug:channel_key>/task/<str:token>/", frames.task, name="mturk-task"),
]
