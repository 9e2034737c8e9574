"""The run-time type checker of the tests: beartype, with integers allowed where floats are annotated (PEP 484)."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
