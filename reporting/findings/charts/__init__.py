"""The pictures of findings. Each is drawn from the findings' JSON alone."""
