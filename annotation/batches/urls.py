"""Addresses of the pages that make batches."""

from django.urls import path

from annotation.batches import views

urlpatterns = [
    path("studies/<slug:slug>/batches/new/", views.new_batch, name="new-batch"),
    path("studies/<slug:slug>/batches/choice/", views.choice, name="batch-choice"),
    path("studies/<slug:slug>/batches/<int:pk>/preview/", views.preview_page, name="batch-preview"),
    path("studies/<slug:slug>/batches/<int:pk>/status/", views.change_status, name="batch-status"),
    path("studies/<slug:slug>/batches/<int:pk>/extend/", views.extend, name="extend-batch"),
    path("studies/<slug:slug>/batches/<int:pk>/copy/", views.copy, name="copy-batch"),
]
