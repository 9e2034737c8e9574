"""The command line. Commands live in `commands/`, one dataclass each; this file only parses and reports errors."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gemel.errors import GemelError

_JSON_FLAG = "--json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run the command, return its exit code (2 for an error that the user can mend)."""
    import tyro

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        command = tyro.extras.subcommand_cli_from_dict(
            _commands(), prog="gemel", description=_DESCRIPTION, args=_with_json_target(given),
        )  # fmt: skip
        if getattr(command, "json", None) is not None:
            from gemel.commands.screen import check_json_target

            check_json_target(command.json)
        return int(command.run())
    except GemelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; run the same command again to go on where it was", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `gemel … | head`: nobody reads on, so nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


_DESCRIPTION = (
    "From a robot's logs to a digital twin that knows how far it can be trusted. "
    "Start with `gemel demo`, or `gemel inspect SOURCE` on a log of your own."
)


def _commands() -> dict[str, Callable[..., Any]]:
    """Commands by name, in the order in which one meets them."""
    from gemel.commands.audit import Audit
    from gemel.commands.bench import Bench
    from gemel.commands.demo import Demo
    from gemel.commands.doctor import Doctor
    from gemel.commands.evaluate import Evaluate, Report
    from gemel.commands.export import Export
    from gemel.commands.inspect import Inspect
    from gemel.commands.live import Live
    from gemel.commands.new import New
    from gemel.commands.prompt import Prompt
    from gemel.commands.run import Gc, Run, Status
    from gemel.commands.suggest import Suggest
    from gemel.commands.train import Train
    from gemel.commands.world import World

    return {
        "demo": Demo,
        "doctor": Doctor,
        "inspect": Inspect,
        "new": New,
        "prompt": Prompt,
        "run": Run,
        "status": Status,
        "suggest": Suggest,
        "live": Live,
        "train": Train,
        "export": Export,
        "evaluate": Evaluate,
        "report": Report,
        "audit": Audit,
        "gc": Gc,
        "world": World,
        "bench": Bench,
    }


def _with_json_target(arguments: list[str]) -> list[str]:
    """`--json` without a file means the screen."""
    if _JSON_FLAG not in arguments:
        return arguments
    at = arguments.index(_JSON_FLAG) + 1
    has_value = at < len(arguments) and (arguments[at] == "-" or not arguments[at].startswith("-"))
    return arguments if has_value else [*arguments[:at], "-", *arguments[at:]]
