"""Asking a vision-language model what an object weighs, where its weight sits and how it slides."""
