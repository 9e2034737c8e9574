"""The page on which a person points at objects and corrects masks."""
