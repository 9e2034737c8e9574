"""Gaussians -> images: one protocol (renderer.py), a plain reference, a fast CPU back end and a CUDA back end."""
