"""URLs of the pages about sampled texts, below a study's."""

from django.urls import path

from judging.generation import views

urlpatterns = [
    path("", views.generate, name="generate"),
    path("estimate/", views.estimate, name="estimate-generating"),
    path("start/", views.start, name="start-generating"),
    path("systems.json", views.systems_file, name="sampled-systems"),
]
