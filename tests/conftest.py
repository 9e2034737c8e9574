"""Shared fixtures. Array shapes and dtypes of annotations are checked at run time in every test."""

import sys
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

ROOT = Path(__file__).parents[1]
# Compiled kernels cannot be wrapped, so only the rooms without them are checked; `Gaussians` checks its own shapes,
# with messages for users that are tested, and must get to see wrong ones.
_ARTIFACTS = [f.stem for f in (ROOT / "src/gemel/artifacts").glob("*.py") if f.stem not in ("__init__", "gaussians")]
_WITH_KERNELS = [
    ".".join(f.relative_to(ROOT / "src").with_suffix("").parts)
    for room in ("stages", "services/sim", "services/policy")
    for f in (ROOT / "src/gemel" / room).rglob("*.py")
    if f.stem != "__init__" and not f.stem.endswith("_kernel")
]
_CHECKED_ROOMS = (
    "gemel.geometry",
    *(f"gemel.artifacts.{name}" for name in _ARTIFACTS),
    "gemel.store",
    "gemel.services.formats",
    "gemel.services.engine",
    "gemel.services.generate",
    "gemel.services.inference",
    "gemel.services.stats",
    "gemel.services.tasks",
    *_WITH_KERNELS,
    "gemel.runtime.adapt",
    "gemel.outputs.pictures",
    "gemel.outputs.export",
    "gemel.worlds",
)
assert not any(name.startswith("gemel.") for name in sys.modules), "gemel was imported before the checks were set up"
install_import_hook(list(_CHECKED_ROOMS), "typecheck.checked")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real measurements that are not part of the repository; tests that need them skip without."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.exists():
        pytest.skip("needs ../shared/data, which is not part of the repository")
    return folder


@pytest.fixture(scope="session")
def waving_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small LeRobot log with declared units, six trials and one scan; read only."""
    from gemel.worlds.waving_arm import WavingArm, write_log

    root = tmp_path_factory.mktemp("waving") / "log"
    return write_log(root, WavingArm(episode_count=7, step_count=24, has_sidecar=True))


@pytest.fixture
def project(waving_log: Path, tmp_path: Path) -> Path:
    """A project folder on that log, not run yet."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "twin.toml").write_text(f'[capture]\nsource = "{waving_log}"\n')
    return folder
