"""Rating by language models, room by room: endpoints, methods, runs, comparison tables."""
