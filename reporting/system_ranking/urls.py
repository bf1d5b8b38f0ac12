"""Addresses of the page of rankings that ask a judge, and of their files."""

from django.urls import path, re_path

from reporting.system_ranking import views

urlpatterns = [
    path("studies/<slug:slug>/rankings/", views.show, name="system-rankings"),
    path("studies/<slug:slug>/rankings/estimate/", views.estimate, name="estimate-system-ranking"),
    path("studies/<slug:slug>/rankings/start/", views.start, name="start-system-ranking"),
    path("studies/<slug:slug>/rankings/<int:ranking_id>/stop/", views.stop, name="stop-system-ranking"),
    path("studies/<slug:slug>/rankings/<int:ranking_id>/continue/", views.resume, name="continue-system-ranking"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/rankings/(?P<ranking_id>[0-9]{1,18})\.(?P<form>csv|json)$",
        views.download,
        name="system-ranking-file",
    ),
]
