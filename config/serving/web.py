"""The web server: gunicorn, as `python -m config.serving.web config.wsgi` with gunicorn's own options."""

import os

from gunicorn.app.wsgiapp import WSGIApplication


class WebServer(WSGIApplication):  # type: ignore[misc]  # without types
    """Gunicorn, except that it leaves `sys.path` alone.

    Its own command puts the current folder first, where a user's `analysis.py` would be imported instead of ours.
    """

    def chdir(self) -> None:
        """Change into the folder of `--chdir`."""
        os.chdir(self.cfg.chdir)


if __name__ == "__main__":
    WebServer("%(prog)s [OPTIONS] [APP_MODULE]").run()
