"""What the framework's own apps would show too much of."""

from django.contrib import admin
from rest_framework.authtoken.models import TokenProxy

# It lists everybody's tokens as they are; a user makes and ends their own on a page that shows it once.
admin.site.unregister(TokenProxy)
