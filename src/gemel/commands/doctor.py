"""`gemel doctor`: what this machine has, what is missing, and which command adds it."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

_EXTRAS = {
    "core": ("numpy", "pyarrow", "av", "tyro", "rich", "jaxtyping"),
    "sim": ("mujoco", "scipy"),
    "warp": ("mujoco-warp", "warp-lang"),
    "gym": ("gymnasium",),
    "fit": ("torch", "numba"),
    "usd": ("usd-core",),
    "worlds": ("mitsuba",),
    "assemble": ("coacd", "fast-simplification"),
    "mjx": ("jax", "mujoco-mjx"),
}


@dataclass(frozen=True)
class Check:
    """One line of the doctor's report."""

    what: str
    state: str
    """`ok`, `missing` or `note`."""
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Doctor:
    """What this machine has (processor, memory, GPU, codecs, extras), what is missing and which command adds it."""

    json: Path | None = None
    """Also write the result as JSON: to this file, or `--json` alone for the screen."""

    def run(self) -> int:
        """Check and show; exit code 1 when the core is not usable."""
        from gemel.commands.screen import print_table, write_json

        checks = [
            _python(),
            _processor(),
            _memory(),
            _disk(),
            _gpu(),
            _graphics(),
            *_codecs(),
            *_packages(),
            *_renderers(),
        ]
        if self.json is not None:
            write_json([asdict(check) for check in checks], self.json)
        if self.json is None or str(self.json) != "-":
            print_table("This machine", ("what", "state", "detail", "what to do"), [
                (c.what, c.state, c.detail, c.remedy) for c in checks
            ])  # fmt: skip
        return 1 if any(c.state == "missing" and c.what.startswith("core") for c in checks) else 0


def _python() -> Check:
    version = platform.python_version()
    note = "" if sys.version_info < (3, 12) else "fitting and training need torch: use Python 3.11 for them"
    return Check("python", "ok", f"{version} on {platform.system()} {platform.machine()}", note)


def _processor() -> Check:
    return Check("processor", "ok", f"{os.cpu_count()} cores, {processor_name()}")


def processor_name() -> str:
    """Name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _memory() -> Check:
    if not hasattr(os, "sysconf"):
        return Check("memory", "note", "unknown on this system")
    total_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    remedy = "" if total_gib >= 8 else "reconstruction wants 8 GiB"
    return Check("memory", "ok" if not remedy else "note", f"{total_gib:.1f} GiB", remedy)


def _disk() -> Check:
    free_gb = shutil.disk_usage(".").free / 1e9
    remedy = "" if free_gb > 5 else "free some space: stores and videos need it"
    return Check("disk", "ok" if not remedy else "note", f"{free_gb:.0f} GB free here", remedy)


def _gpu() -> Check:
    name = gpu_name()
    return Check("gpu", "ok", name) if name else Check("gpu", "note", "none", "none needed: the CPU path is complete")


def gpu_name() -> str:
    """Name and memory of the NVIDIA GPU, or nothing."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()


def _graphics() -> Check:
    import ctypes.util

    found = ctypes.util.find_library("EGL")
    if found:
        return Check("EGL", "ok", f"{found}: MuJoCo's own renderer works with MUJOCO_GL=egl")
    return Check("EGL", "note", "not found", "only debugging views need it: apt-get install libegl1 libgl1-mesa-dri")


def _codecs() -> list[Check]:
    try:
        import av
    except ModuleNotFoundError:
        return [Check("core av", "missing", "video cannot be read", "pip install gemel")]
    checks = []
    for codec, encoder in (("h264", "libx264"), ("av1", "libsvtav1")):
        reads, writes = codec in av.codecs_available, encoder in av.codecs_available
        detail = f"{'reads' if reads else 'cannot read'}, {'writes' if writes else 'cannot write'}"
        is_ok = reads and writes
        checks.append(Check(f"video {codec}", "ok" if is_ok else "missing", detail, "" if is_ok else "pip install av"))
    return checks


def _packages() -> list[Check]:
    checks = []
    for extra, packages in _EXTRAS.items():
        for package in packages:
            try:
                checks.append(Check(f"{extra} {package}", "ok", importlib.metadata.version(package)))
            except importlib.metadata.PackageNotFoundError:
                remedy = "pip install gemel" if extra == "core" else f"pip install 'gemel[{extra}]'"
                checks.append(Check(f"{extra} {package}", "missing", "not installed", remedy))
    return checks


def _renderers() -> list[Check]:
    """Which splat renderers work here, and which one `auto` takes."""
    from gemel.services.render.renderer import usable_backends

    obstacles = usable_backends()
    chosen = next((name for name in ("cuda", "cpu") if not obstacles[name]), None)
    return [
        Check(
            f"renderer {name}",
            "note" if obstacle else "ok",
            obstacle or ("the default here" if name == chosen else "usable"),
        )
        for name, obstacle in obstacles.items()
    ]
