"""Addresses that Mechanical Turk's window calls."""

from django.urls import path

from annotation.recruitment.mturk import views

urlpatterns = [
    path("mturk/<slug:channel_key>/status/<str:token>/", views.status, name="mturk-status"),
    path("mturk/<slug:channel_key>/task/<str:token>/", views.task, name="mturk-task"),
]
