"""Addresses of Django's admin, whose tables are registered when somebody first asks for one of them."""

from django.contrib import admin

admin.autodiscover()
urlpatterns = admin.site.get_urls()
