"""Admin pages of other apps that must not be registered."""

from django.contrib import admin
from rest_framework.authtoken.models import TokenProxy

# It would show every user's token; users manage their own on a page that shows a new token once.
admin.site.unregister(TokenProxy)
