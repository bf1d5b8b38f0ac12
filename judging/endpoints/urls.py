"""Addresses of the endpoints' pages."""

from django.urls import path

from judging.endpoints import views

urlpatterns = [
    path("endpoints/", views.endpoints, name="endpoints"),
    path("endpoints/new/", views.new_endpoint, name="new-endpoint"),
    path("endpoints/<slug:endpoint_name>/", views.endpoint, name="endpoint"),
    path("endpoints/<slug:endpoint_name>/test/", views.test_endpoint, name="test-endpoint"),
]
