"""Stand-in realities with hidden truth: for demos, tests and benchmarks. No stage may import this room."""
