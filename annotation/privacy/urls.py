"""Addresses at which people get and delete their own data."""

from django.urls import path

from annotation.privacy import own_data

urlpatterns = [
    path("rate/consent/<slug:study_key>/erase/", own_data.erase, name="erase"),
    path("rate/data/", own_data.own_data, name="own-data"),
    path("rate/data/file/", own_data.own_data_file, name="own-data-file"),
    path("rate/data/erase/", own_data.erase, name="erase-all"),
]
