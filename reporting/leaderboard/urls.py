"""Addresses of the leaderboard and its files."""

from django.urls import path, re_path

from reporting.leaderboard import views

urlpatterns = [
    path("studies/<slug:slug>/leaderboard/", views.show, name="leaderboard"),
    re_path(r"^studies/(?P<slug>[-\w]+)/leaderboard\.(?P<form>csv|json)$", views.download, name="leaderboard-file"),
]
