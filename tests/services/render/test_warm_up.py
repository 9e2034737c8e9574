"""What `make install` compiles is what a picture needs."""

from gemel.services.render import cpu_kernels
from gemel.services.render.warm_up import warm_up


def test_both_kernels_are_compiled() -> None:
    """Drawing and differentiating, each for its one signature."""
    warm_up()
    for kernel in (cpu_kernels.forward_kernel, cpu_kernels.gradient_kernel):
        assert len(kernel.signatures) == 1
