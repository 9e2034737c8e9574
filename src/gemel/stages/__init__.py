"""The verbs, in the order in which data meets them. Stages never import each other."""
