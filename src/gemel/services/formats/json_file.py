"""JSON files of a log, read with suspicion: an object, in text that can be printed, or one clear error."""

import json
from pathlib import Path
from typing import Any

from gemel.errors import SourceError
from gemel.services.formats.paths import plain_file


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; damaged, absurdly nested or unprintable files raise `SourceError`."""
    plain_file(path, "file")
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        # Half a surrogate pair (`"\ud800"`) parses, but no terminal and no store could hold it.
        json.dumps(tree, ensure_ascii=False).encode("utf-8")
    except (ValueError, OSError, RecursionError) as error:
        raise SourceError(
            f"{path} cannot be read as JSON ({type(error).__name__}: {error}).",
            remedy="it is damaged or was cut off: restore it from the recording",
        ) from error
    if not isinstance(tree, dict):
        raise SourceError(f"{path} is not a JSON object.", remedy="restore it from the recording")
    return tree
