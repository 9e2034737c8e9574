"""One frame's object poses by render-and-compare, from a start that the caller predicts."""
