"""The tiling rule ``shared-work``: what does not vary over a dim is computed once for several points."""

import torch
from compiling import check
from torch.nn import functional as F


def test_channels_share_the_places_of_their_pixels():
    images = torch.randn(160, 8, 12, 16, generator=torch.Generator().manual_seed(0))
    grid = torch.rand(160, 12, 16, 2, generator=torch.Generator().manual_seed(1)) * 2.2 - 1.1

    def sampled(images, grid):
        return F.grid_sample(images, grid, align_corners=False)

    (graph,) = check(sampled, images, grid, interpret_level="tiled", hardware="h200").graphs
    assert graph.launches_after == 1
    assert [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"] == ["shared-work"]
