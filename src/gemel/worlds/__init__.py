"""Stand-in realities: they record captures as a lab would and answer a policy as a robot would, with sealed truth.

Owns hidden parameters, imperfections, physics, path-traced cameras, operators and recording. Does not own what the twin
may know: contracts, nominal models and ranges are in `services/tasks`. It is not the twin in disguise: another renderer
(mitsuba), and physics that the twin does not model (lag, backlash, uneven friction, offsets).

Read `scenario.py` for what a world is made of, `push_t.py` for one world, `record.py` for how a capture is made.
"""
