"""Addresses of the page about a task's aspects, below one study's."""

from django.urls import path

from judging.views import aspects

urlpatterns = [
    path("", aspects.aspects, name="aspects"),
    path("edit/", aspects.edit, name="edit-aspects"),
    path("estimate/", aspects.estimate, name="estimate-aspects"),
    path("distil/", aspects.distil, name="distil-aspects"),
]
