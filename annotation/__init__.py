"""People rating: studies, what is compared in them, annotators and their ratings, room by room."""
