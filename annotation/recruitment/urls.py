"""Addresses at which people arrive, those of a study's channels, and those that platforms open."""

from django.urls import path

from annotation.recruitment import arrival_views, channel_views
from annotation.recruitment.mturk import frames
from annotation.recruitment.prolific import updates

urlpatterns = [
    path("join/<slug:channel_key>/", arrival_views.join, name="join"),
    path("join/<slug:channel_key>/<slug:token>/", arrival_views.invitation, name="invitation"),
    path("studies/<slug:slug>/channels/", channel_views.channels, name="channels"),
    path("studies/<slug:slug>/channels/new/<slug:kind>/", channel_views.new_channel, name="new-channel"),
    path("studies/<slug:slug>/channels/<slug:channel_key>/", channel_views.channel, name="channel"),
    path("studies/<slug:slug>/channels/<slug:channel_key>/links/", channel_views.links, name="links"),
    path("mturk/<slug:channel_key>/status/<str:token>/", frames.status, name="mturk-status"),
    path("mturk/<slug:channel_key>/task/<str:token>/", frames.task, name="mturk-task"),
    path("hooks/prolific/<slug:channel_key>/", updates.webhook, name="prolific-webhook"),
]
