"""Addresses of the pages about single judgments, below one study's."""

from django.urls import path

from judging.review import views

urlpatterns = [
    path("studies/<slug:slug>/judges/compare/", views.comparison, name="compare"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/", views.judgment, name="judgment"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/mark/", views.mark, name="mark"),
]
