"""Compile the kernels of the CPU renderer, which keeps them on disk: `python -m gemel.services.render.warm_up`.

`make install` does it, so that the first run need not.
"""

from gemel.services.render.renderer import RenderRequest, make_renderer


def warm_up() -> None:
    """Draw a Gaussian, and differentiate the picture."""
    import torch

    means = torch.tensor([[0.0, 0.0, 1.0]], requires_grad=True)
    images = make_renderer("cpu").render(
        RenderRequest(
            means=means,
            covariances=1e-3 * torch.eye(3)[None],
            opacities=torch.full((1,), 0.5),
            sh=torch.zeros((1, 1, 3)),
            Ts_camera_world=torch.eye(4)[None],
            intrinsics=torch.tensor([[20.0, 20.0, 8.0, 8.0]]),
            width=16,
            height=16,
        )
    )
    images.colour.sum().backward()


if __name__ == "__main__":
    warm_up()
