"""Addresses of the pages about single judgments, below one study's."""

from django.urls import path

from judging.review import comparison_views, judgment_views, mark_views

urlpatterns = [
    path("studies/<slug:slug>/judges/compare/", comparison_views.comparison, name="compare"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/", judgment_views.judgment, name="judgment"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/mark/", mark_views.mark, name="mark"),
]
