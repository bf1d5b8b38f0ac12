"""WSGI entry point."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.template import engines

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
# Else each process would load pages and template tags for itself with its first requests, several threads at a time.
import_module(settings.PAGE_URLCONF)
engines.all()
