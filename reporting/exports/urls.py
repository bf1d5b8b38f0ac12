"""Addresses of downloads in long form."""

from django.urls import re_path

from reporting.exports import views

urlpatterns = [
    re_path(
        r"^studies/(?P<slug>[-\w]+)/export/(?P<kind>ratings|judgments|history|flags)\.(?P<form>csv|jsonl)$",
        views.download,
        name="export",
    ),
]
