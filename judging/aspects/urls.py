"""URLs of the aspects page, below a study's."""

from django.urls import path

from judging.aspects import views

urlpatterns = [
    path("", views.aspects, name="aspects"),
    path("edit/", views.edit, name="edit-aspects"),
    path("estimate/", views.estimate, name="estimate-aspects"),
    path("distil/", views.distil, name="distil-aspects"),
]
