"""identify: tracks and a prior belief -> a posterior belief with intervals that cover."""
