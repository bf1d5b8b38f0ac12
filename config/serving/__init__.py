"""The processes that serve Tandem: the web server and the worker, under one supervisor. Imports nothing of Django."""
