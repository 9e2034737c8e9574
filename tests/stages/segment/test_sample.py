"""The classical segmenter on the bundled sample, against its truth."""

from pathlib import Path

import numpy as np
import pytest

from gemel.benchmarks.masks import compare
from gemel.pipeline import run_project
from gemel.project import open_project

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "src" / "gemel" / "samples" / "push_t"


class _Silent:
    def stage(self, name: str) -> object:
        from contextlib import nullcontext

        return nullcontext(lambda fraction: None)

    def done(self, result: object) -> None:
        pass


@pytest.mark.slow
def test_masks_of_the_sample_without_any_prompt(tmp_path: Path) -> None:
    """The T-block is found in the scan and followed through the trials in all cameras, without a prompt."""
    (tmp_path / "twin.toml").write_text(
        f'[capture]\nsource = "{SAMPLE}"\n[segment]\nevery_n_steps = 3\nevery_n_task_steps = 15\n'
    )
    results = run_project(open_project(tmp_path), _Silent(), last="segment")  # type: ignore[arg-type]
    address = next(r.address for r in results if r.name == "segment")
    rows = compare(tmp_path, address, SAMPLE, ROOT / "tests" / "data" / "push_t_truth")
    used = np.array([row["iou"] for row in rows if row["is_used"]])
    assert len(used) > 0.8 * len(rows)
    assert np.median(used) > 0.87
    assert np.quantile(used, 0.1) > 0.75
