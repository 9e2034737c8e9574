"""Physics: many simulations of one scene, each with its own parameters.

Owns the names of physical parameters and what they mean in an engine, the compilation of a twin and the stepping. Does
not own what is believed of the parameters (`artifacts/belief.py`) nor how a twin is put together (`stages/assemble`).
"""
