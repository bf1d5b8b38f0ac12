"""Addresses of corrections."""

from django.urls import path

from reporting.corrections import views

urlpatterns = [path("studies/<slug:slug>/correct/<slug:action>/", views.correct, name="correct")]
