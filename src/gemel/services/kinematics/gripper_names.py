"""Which names are those of grippers: asked of joints, links and geoms alike, so that all agree on what a gripper is."""

_WORDS = ("gripper", "finger", "carriage", "jaw")


def is_gripper(words: str) -> bool:
    """Whether the names of a part or joint are those of a gripper."""
    return any(word in words.lower() for word in _WORDS)
