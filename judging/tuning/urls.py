"""Addresses of a study's tunings, below its judges."""

from django.urls import path

from judging.tuning import views

urlpatterns = [
    path("", views.tunings, name="tunings"),
    path("estimate/", views.estimate, name="estimate-tuning"),
    path("start/", views.start, name="start-tuning"),
]
