"""Language models rating: endpoints, judging methods, runs, comparison tables, room by room."""
