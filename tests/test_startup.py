"""What a web process loads before its first request: nothing that only judges and measures need."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "openai", "aiohttp", "pydantic", "nltk", "tokenizers", "analysis.encoders")


def test_web_process_starts_without_models_and_clients() -> None:
    told = f"import sys, config.wsgi; print([name for name in {HEAVY} if name in sys.modules])"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    started = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert started.stdout.strip() == "[]"
