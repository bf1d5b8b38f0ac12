"""Addresses that Mechanical Turk's window calls, and that of the files for its requester site."""

from django.urls import path

from annotation.recruitment.mturk import offline_views, views

urlpatterns = [
    path("studies/<slug:slug>/channels/<slug:channel_key>/mturk/", offline_views.by_file, name="mturk-by-file"),
    path("mturk/<slug:channel_key>/status/<str:token>/", views.status, name="mturk-status"),
    path("mturk/<slug:channel_key>/task/<str:token>/", views.task, name="mturk-task"),
]
