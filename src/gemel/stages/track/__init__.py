"""Video and reconstruction -> object poses over time."""
