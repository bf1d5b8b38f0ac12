"""Addresses at which people arrive, and those of a study's channels."""

from django.urls import path

from annotation.recruitment import arrival_views, channel_views

urlpatterns = [
    path("join/<slug:channel_key>/", arrival_views.join, name="join"),
    path("join/<slug:channel_key>/<slug:token>/", arrival_views.invitation, name="invitation"),
    path("studies/<slug:slug>/channels/", channel_views.channels, name="channels"),
    path("studies/<slug:slug>/channels/new/<slug:kind>/", channel_views.new_channel, name="new-channel"),
    path("studies/<slug:slug>/channels/<slug:channel_key>/", channel_views.channel, name="channel"),
    path("studies/<slug:slug>/channels/<slug:channel_key>/links/", channel_views.links, name="links"),
]
