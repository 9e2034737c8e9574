"""The nouns: frozen dataclasses, no algorithms, no files. Import each from the module that is named after it."""
