"""Addresses at which people get and delete their own data."""

from django.urls import path

from annotation.privacy import views

urlpatterns = [
    path("rate/consent/<slug:study_key>/erase/", views.erase, name="erase"),
    path("rate/data/", views.own_data, name="own-data"),
    path("rate/data/file/", views.own_data_file, name="own-data-file"),
    path("rate/data/erase/", views.erase, name="erase-all"),
]
