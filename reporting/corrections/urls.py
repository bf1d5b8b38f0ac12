"""Addresses of corrections."""

from django.urls import path

from reporting.corrections import accounts, views

urlpatterns = [
    path("studies/<slug:slug>/correct/<slug:action>/", views.correct, name="correct"),
    path("accounts/<str:username>/delete/", accounts.delete, name="delete-account"),
]
