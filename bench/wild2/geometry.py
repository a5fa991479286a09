"""Points, meshes, rays and proteins in three dimensions."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import BFLOAT16, Workloads

GEOMETRY = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


@GEOMETRY.add("edge_features", (16, 2048, 20, 32), (2, 16, 4, 4), trains=2, **_TRAINED)
def _edge_features(source: Source, clouds: int, points: int, near: int, width: int):
    """A point's neighbours less itself through a layer, and the maximum, as in DGCNN."""

    def edge_features(x: Tensor, weight: Tensor, places: Tensor) -> Tensor:
        first = torch.arange(clouds, device=x.device)[:, None, None]
        around = x[first, places]
        here = x[:, :, None].expand_as(around)
        found = F.leaky_relu(torch.cat((around - here, here), -1) @ weight, 0.2).amax(2)
        return found.square().mean()

    weight = source.normal(2 * width, 2 * width) / width**0.5
    return edge_features, (
        source.normal(clouds, points, width), weight, source.integers(points, clouds, points, near),
    )  # fmt: skip


@GEOMETRY.add("voxel_means", (200000, 64, 48), (64, 8, 4))
def _voxel_means(source: Source, points: int, width: int, side: int):
    """Means of the points in each voxel, and their features read back between eight voxels (PVCNN)."""

    def voxel_means(at: Tensor, x: Tensor) -> Tensor:
        place = at * (side - 1)
        near = place.round().long()
        flat = (near[:, 0] * side + near[:, 1]) * side + near[:, 2]
        total = x.new_zeros(side**3, width).index_add(0, flat, x)
        count = x.new_zeros(side**3).index_add(0, flat, torch.ones_like(x[:, 0])).clamp(min=1)
        grid = total / count[:, None]
        low = place.floor().clamp(0, side - 2)
        rest, low = place - low, low.long()
        found = torch.zeros_like(x)
        for corner in range(8):
            i, j, k = corner >> 2, (corner >> 1) & 1, corner & 1
            flat = ((low[:, 0] + i) * side + low[:, 1] + j) * side + low[:, 2] + k
            parts = (rest[:, d] if bit else 1 - rest[:, d] for d, bit in enumerate((i, j, k)))
            a, b, c = parts
            found = found + grid[flat] * (a * b * c)[:, None]
        return found

    return voxel_means, (source.uniform(0.0, 1.0, points, 3), source.normal(points, width))


@GEOMETRY.add("farthest_points", (32, 8192, 24), (2, 32, 4))
def _farthest_points(source: Source, clouds: int, points: int, kept: int):
    """So many points far from each other, one after the other, as in PointNet++; returns their distances."""

    def farthest_points(at: Tensor) -> Tensor:
        far = torch.full_like(at[:, :, 0], 1e10)
        here = at[:, 0]
        found = []
        for _ in range(kept):
            far = torch.minimum(far, (at - here[:, None]).square().sum(-1))
            most, place = far.max(1)
            here = at.gather(1, place[:, None, None].expand(-1, 1, 3))[:, 0]
            found.append(most)
        return torch.stack(found, 1)

    return farthest_points, (source.normal(clouds, points, 3),)


@GEOMETRY.add("chamfer", (4, 2048), (2, 32), trains=2, **_TRAINED)
def _chamfer(source: Source, clouds: int, points: int):
    """Squared distances to the nearest point of the other cloud, both ways."""

    def chamfer(x: Tensor, y: Tensor) -> Tensor:
        far = (x[:, :, None] - y[:, None]).square().sum(-1)
        return far.amin(2).mean() + far.amin(1).mean()

    return chamfer, (source.normal(clouds, points, 3), source.normal(clouds, points, 3))


@GEOMETRY.add("mesh_losses", (100000, 200000), (24, 40), trains=1, **_TRAINED)
def _mesh_losses(source: Source, vertices: int, faces: int):
    """Normals of vertices from their faces, edge lengths and a Laplacian, as in pytorch3d."""

    def mesh_losses(at: Tensor, face: Tensor, wanted: Tensor) -> Tensor:
        a, b, c = (at[face[:, i]] for i in range(3))
        flat = torch.linalg.cross(b - a, c - a)
        total = torch.zeros_like(at)
        near = torch.zeros_like(at)
        count = at.new_zeros(vertices)
        for i, other in enumerate((b + c, c + a, a + b)):
            total = total.index_add(0, face[:, i], flat)
            near = near.index_add(0, face[:, i], other)
            count = count.index_add(0, face[:, i], torch.full_like(other[:, 0], 2.0))
        normals = F.normalize(total, dim=-1, eps=1e-3)
        smooth = (near / count.clamp(min=1)[:, None] - at).square().sum(-1)
        edges = (a - b).square().sum(-1) + (b - c).square().sum(-1)
        return (1 - (normals * wanted).sum(-1)).mean() + smooth.mean() + 0.1 * edges.mean()

    return mesh_losses, (
        source.normal(vertices, 3), source.integers(vertices, faces, 3), source.normal(vertices, 3),
    )  # fmt: skip


@GEOMETRY.add("splat_projection", (1000000,), (48,))
def _splat_projection(source: Source, splats: int):
    """Gaussians of quaternions and scales to conics on the image, radii, and colours of view directions."""

    def splat_projection(at: Tensor, q: Tensor, scale: Tensor, sh: Tensor, view: Tensor):
        w, x, y, z = F.normalize(q, dim=-1).unbind(-1)
        turn = torch.stack(
            (
                1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
            ),
            -1,
        ).view(-1, 3, 3)  # fmt: skip
        m = turn * scale.exp()[:, None]
        cam = at @ view[:, :3].T + view[:, 3]
        depth = cam[:, 2].abs() + 2
        zero = torch.zeros_like(depth)
        slopes = torch.stack((1 / depth, zero, -cam[:, 0] / depth**2), -1)
        slants = torch.stack((zero, 1 / depth, -cam[:, 1] / depth**2), -1)
        jacobian = torch.stack((slopes, slants), 1) @ view[:, :3]
        t = jacobian @ m
        flat = t @ t.mT
        a, b, c = flat[:, 0, 0] + 0.3, flat[:, 0, 1], flat[:, 1, 1] + 0.3
        det = a * c - b * b
        radius = 3 * (0.5 * (a + c) + ((0.5 * (a - c)) ** 2 + b * b).sqrt()).sqrt()
        way = F.normalize(at, dim=-1)
        colour = 0.282 * sh[:, 0] - 0.488 * (
            way[:, 1:2] * sh[:, 1] - way[:, 2:] * sh[:, 2] + way[:, :1] * sh[:, 3]
        )
        return torch.stack((c / det, -b / det, a / det), -1), radius, F.relu(colour + 0.5)

    return splat_projection, (
        source.normal(splats, 3), source.normal(splats, 4), source.normal(splats, 3) - 3,
        source.normal(splats, 4, 3), source.normal(3, 4),
    )  # fmt: skip


@GEOMETRY.add("splat_blending", (4096, 64, 64), (4, 8, 8), trains=2, **_TRAINED)
def _splat_blending(source: Source, tiles: int, splats: int, pixels: int):
    """Splats of a tile, front to back, over its pixels."""

    def splat_blending(opacity: Tensor, colour: Tensor, at: Tensor, conic: Tensor, pixel: Tensor) -> Tensor:
        d = pixel - at[:, None]
        power = conic[:, None, :, 0] * d[..., 0] ** 2 + conic[:, None, :, 1] * d[..., 1] ** 2
        alpha = (opacity[:, None] * torch.exp(-0.5 * power)).clamp(max=0.99)
        passed = torch.cumprod(1 - alpha, -1)
        before = torch.cat((torch.ones_like(passed[..., :1]), passed[..., :-1]), -1)
        return torch.einsum("tps,tsc->tpc", alpha * before, colour).square().mean()

    return splat_blending, (
        source.uniform(0.1, 0.9, tiles, splats), source.uniform(0.0, 1.0, tiles, splats, 3),
        source.normal(tiles, splats, 2), source.uniform(0.1, 1.0, tiles, splats, 2),
        source.normal(pixels, 1, 2),
    )  # fmt: skip


@GEOMETRY.add("proposal_bound", (32768, 64, 96), (8, 8, 12), trains=1, **_TRAINED)
def _proposal_bound(source: Source, rays: int, coarse: int, fine: int):
    """A histogram of coarse intervals must lie above that of fine ones; and a distortion (mip-NeRF 360)."""

    def proposal_bound(weight: Tensor, edges: Tensor, finer: Tensor, w: Tensor) -> Tensor:
        p = weight.softmax(-1)
        sums = F.pad(p.cumsum(-1), (1, 0))
        last = torch.searchsorted(edges, finer, right=True)
        low = sums.gather(-1, (last[:, :-1] - 1).clamp(0, coarse))
        high = sums.gather(-1, last[:, 1:].clamp(0, coarse))
        bound = (w - (high - low)).relu().square() / (w + 1e-3)
        middle = (edges[:, 1:] + edges[:, :-1]) / 2
        mass, moment = p.cumsum(-1), (p * middle).cumsum(-1)
        spread = 2 * (p * (middle * mass - moment)).sum(-1)
        spread = spread + (p.square() * (edges[:, 1:] - edges[:, :-1])).sum(-1) / 3
        return bound.sum(-1).mean() + 0.01 * spread.mean()

    return proposal_bound, (
        source.normal(rays, coarse), source.uniform(0.0, 1.0, rays, coarse + 1).sort().values,
        source.uniform(0.0, 1.0, rays, fine + 1).sort().values, source.normal(rays, fine).softmax(-1),
    )  # fmt: skip


@GEOMETRY.add("plane_features", (3, 32, 512, 262144), (3, 4, 8, 32), trains=1, **_TRAINED)
def _plane_features(source: Source, planes: int, width: int, side: int, points: int):
    """Points read from three planes, between four places each, as in EG3D and K-planes."""

    def plane_features(plane: Tensor, at: Tensor, wanted: Tensor) -> Tensor:
        found = wanted.new_ones(points, width)
        for index, (i, j) in enumerate(((0, 1), (1, 2), (0, 2))):
            place = at[:, (i, j)] * (side - 1)
            low = place.floor().clamp(0, side - 2)
            x, y = (place - low).unbind(-1)
            row, column = low.long().unbind(-1)
            p = plane[index]
            top = p[row, column] * (1 - y)[:, None] + p[row, column + 1] * y[:, None]
            bottom = p[row + 1, column] * (1 - y)[:, None] + p[row + 1, column + 1] * y[:, None]
            found = found * (top * (1 - x)[:, None] + bottom * x[:, None])
        return (found - wanted).square().mean()

    return plane_features, (
        source.normal(planes, side, side, width), source.uniform(0.0, 1.0, points, 3),
        source.normal(points, width),
    )  # fmt: skip


@GEOMETRY.add("morton_march", (262144, 48), (32, 6))
def _morton_march(source: Source, rays: int, steps: int):
    """Samples along rays, their places in an occupancy grid by interleaved bits, light left after each."""

    def spread(x: Tensor) -> Tensor:
        x = (x | (x << 8)) & 0x0300F00F
        x = (x | (x << 4)) & 0x030C30C3
        return (x | (x << 2)) & 0x09249249

    def morton_march(start: Tensor, way: Tensor, grid: Tensor) -> tuple[Tensor, Tensor]:
        t = torch.arange(steps, device=start.device, dtype=start.dtype) / steps
        at = (start[:, None] + F.normalize(way, dim=-1)[:, None] * t[:, None]).clamp(0, 1)
        x, y, z = (at * 63).to(torch.int64).unbind(-1)
        dense = grid[spread(x) | (spread(y) << 1) | (spread(z) << 2)]
        left = torch.exp(-(dense / steps).cumsum(-1))
        return left[:, -1], (left * t).sum(-1)

    return morton_march, (
        source.uniform(0.0, 1.0, rays, 3), source.normal(rays, 3), source.uniform(0.0, 2.0, 64**3),
    )  # fmt: skip


@GEOMETRY.add("frame_points", (2, 256, 12, 8), (1, 12, 2, 3), trains=3, **_TRAINED)
def _frame_points(source: Source, batch: int, residues: int, heads: int, points: int):
    """Attention by distances of points in residues' frames, and points read back (AlphaFold)."""

    def frame_points(q: Tensor, k: Tensor, v: Tensor, turn: Tensor, move: Tensor, bias: Tensor) -> Tensor:
        def world(x: Tensor) -> Tensor:
            return torch.einsum("brij,brhpj->brhpi", turn, x) + move[:, :, None, None]

        gq, gk, gv = world(q), world(k), world(v)
        far = (gq[:, :, None] - gk[:, None]).square().sum((-1, -2))
        weight = (bias - 0.1 * far).softmax(2)
        found = torch.einsum("bqkh,bkhpi->bqhpi", weight, gv) - move[:, :, None, None]
        return torch.einsum("brji,brhpj->brhpi", turn, found).square().mean()

    shape = (batch, residues, heads, points, 3)
    frames = torch.linalg.qr(source.normal(batch, residues, 3, 3).cpu().float())[0]
    return frame_points, (
        *(source.normal(*shape) for _ in range(3)), frames.to(source.device, source.dtype),
        source.normal(batch, residues, 3), source.normal(batch, residues, residues, heads),
    )  # fmt: skip


@GEOMETRY.add("triangle_update", (384, 64), (12, 8), BFLOAT16, slack=4.0)
def _triangle_update(source: Source, residues: int, width: int):
    """Pairs from pairs that share a residue, gated, between two norms (AlphaFold, ESMFold)."""

    def triangle_update(z: Tensor, left: Tensor, right: Tensor, gates: Tensor, out: Tensor) -> Tensor:
        x = F.layer_norm(z, (width,))
        a_gate, b_gate, gate = torch.sigmoid(x @ gates).chunk(3, -1)
        a, b = a_gate * (x @ left), b_gate * (x @ right)
        found = torch.einsum("ikc,jkc->ijc", a, b)
        return z + gate * (F.layer_norm(found, (width,)) @ out)

    weights = (source.normal(width, n * width) / width**0.5 for n in (1, 1, 3, 1))
    return triangle_update, (source.normal(residues, residues, width), *weights)


@GEOMETRY.add("distogram_loss", (4, 384, 64), (1, 12, 8), trains=1, **_TRAINED)
def _distogram_loss(source: Source, batch: int, residues: int, bins: int):
    """Cross entropy of the bins of all distances, where both residues are known."""

    def distogram_loss(logits: Tensor, at: Tensor, known: Tensor, edges: Tensor) -> Tensor:
        far = (at[:, :, None] - at[:, None]).square().sum(-1)
        place = torch.bucketize(far, edges)
        logits = (logits + logits.transpose(1, 2)) / 2
        each = F.cross_entropy(logits.flatten(0, 2), place.flatten(), reduction="none").view_as(far)
        both = (known[:, :, None] * known[:, None]).to(each.dtype)
        return (each * both).sum() / (both.sum() + 1e-6)

    edges = torch.linspace(0.1, 12.0, bins - 1, device=source.device, dtype=source.dtype)
    known = source.uniform(0.0, 1.0, batch, residues) < 0.9
    return distogram_loss, (
        source.normal(batch, residues, residues, bins), source.normal(batch, residues, 3), known, edges,
    )  # fmt: skip


__all__ = ["GEOMETRY"]
