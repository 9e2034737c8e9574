"""The generated route: a model from elsewhere, brought to its place by the observations."""
