"""The one exception family: every message says what was given, what was expected and what to do."""


class GemelError(Exception):
    """A problem with data, settings or the machine, told so that the reader can act on it.

    `problem` says what was given and what was expected; `remedy` says what to do about it.
    """

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(f"{problem}\n  What to do: {remedy}")
        self.problem = problem
        self.remedy = remedy


class SourceError(GemelError):
    """A file of the outside world is missing, damaged or not what it says it is."""


class ConfigError(GemelError):
    """A setting is missing, unknown or contradicts another."""


class StoreError(GemelError):
    """The store or its ledger is damaged, or something in it is not there."""


class LeakageError(GemelError):
    """A step asked for data that its role forbids, or held-out data turned up among fitting data."""


class MissingExtraError(GemelError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package!r}, which is not installed here.",
            remedy=f"pip install 'gemel[{extra}]'  (in a checkout: make install)",
        )


def choices_text(given: str, choices: "list[str] | tuple[str, ...]") -> str:
    """`'giv' is unknown. Closest: 'give'. Choices: [...]` for messages about names."""
    import difflib

    closest = difflib.get_close_matches(given, choices, n=1)
    hint = f" Closest: {closest[0]!r}." if closest else ""
    return f"{given!r} is unknown.{hint} Choices: {sorted(choices)}."
