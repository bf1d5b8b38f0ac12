"""The planner's address."""

from django.urls import path

from annotation.planning import views

urlpatterns = [
    path("studies/<slug:slug>/plan/", views.planner, name="planner"),
]
