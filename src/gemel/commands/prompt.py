"""`gemel prompt`: a page to point at objects and correct masks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)


@dataclass(frozen=True)
class Prompt:
    """Open a page on this machine to point at objects, draw boxes and correct masks; `gemel run` then uses them."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder."""
    port: int = 0
    """Port on the loopback interface; 0 takes a free one."""
    browser: bool = True
    """Open the page in the browser."""

    def run(self) -> int:
        """Make sure that there are episodes to show, then serve until interrupted."""
        import webbrowser

        from gemel.commands.prompt_desk import ProjectDesk
        from gemel.commands.screen import ScreenReporter, console
        from gemel.outputs.prompt.server import make_server
        from gemel.pipeline import run_project
        from gemel.project import open_project

        project = open_project(self.folder)
        run_project(project, ScreenReporter(), last="split")
        with ProjectDesk(self.folder) as desk:
            server = make_server(desk, self.port)
            address = f"http://127.0.0.1:{server.server_address[1]}/"
            console().print(f"{address}  (Ctrl-C ends it; then: gemel run {self.folder})")
            if self.browser:
                webbrowser.open(address)
            try:
                server.serve_forever()
            finally:
                server.server_close()
        return 0
