"""Functions that worker processes run in the tests of the engine; they have to be importable by name."""

import os
import signal
import sys
import time


def double(value: int) -> int:
    """Twice the value, later for smaller ones so that answers come out of order."""
    time.sleep(0.02 * max(0, 4 - value))
    return 2 * value


def fail_on_three(value: int) -> int:
    """Refuses 3."""
    if value == 3:
        raise ValueError("three is not allowed")
    return value


def die_on_two(value: int) -> int:
    """Kills its own process on 2."""
    if value == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def sleep_long(value: int) -> int:
    """Announces its process and sleeps."""
    os.write(1, f"{os.getpid()}\n".encode())  # one call, so that two workers cannot mix their lines
    time.sleep(60.0)
    return value


def main() -> None:
    """A program that maps until it is interrupted."""
    from gemel.services.engine import LocalEngine

    os.write(1, f"parent {os.getpid()}\n".encode())
    try:
        LocalEngine().map(sleep_long, [1, 2], workers=2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
