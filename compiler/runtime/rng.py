"""Random numbers: where seeds come from, and the generator that every level computes in the same way."""

import math

import torch

_MASK = 0xFFFFFFFF
#: Philox 4x32-10 (Salmon et al. 2011): multipliers of a round, increments of the key.
_ROUND_A, _ROUND_B = 0xD2511F53, 0xCD9E8D57
_KEY_A, _KEY_B = 0x9E3779B9, 0xBB67AE85
#: The largest float32 below 1 / 2**31: a 31-bit integer times it stays below 1.
UNIFORM_SCALE = 4.6566127342e-10
#: Uniform numbers below this are raised to it before the logarithm of Box-Muller.
SMALLEST_UNIFORM = 1.0e-7


def signed64(value: int) -> int:
    """``value`` modulo 2**64 as a signed number."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


class RngState:
    """Where ``fuse.rng`` takes its (seed, offset) from.  One object serves the interpreter and the GPU
    runtime alike.

    Without ``seed``, torch's default generators are advanced, so ``torch.manual_seed`` and ``fork_rng`` mean
    what they mean in eager mode: CUDA's gives its seed and Philox offset; the CPU's, which is no Philox,
    gives a number that serves as the seed. With ``seed``, the state is the object's own: that seed, and an
    offset per device that starts at 0.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed
        self._offsets: dict[str, int] = {}

    def draw(self, device: str, count: int) -> tuple[int, int]:
        """(seed, offset) of ``count`` draws on ``device`` ("cpu", "cuda:0"), as signed 64-bit numbers.
        Advances the state."""
        step = max(4, (count + 3) // 4 * 4)  # CUDA's offsets are multiples of 4
        if self._seed is not None:
            offset = self._offsets.get(device, 0)
            self._offsets[device] = offset + step
            return signed64(self._seed), offset
        place = torch.device(device)
        if place.type != "cuda" or not torch.cuda.is_available():
            return int(torch.randint(0, (1 << 63) - 1, (), dtype=torch.int64)), 0
        index = torch.cuda.current_device() if place.index is None else place.index
        generator = torch.cuda.default_generators[index]
        offset = generator.get_offset()
        generator.set_offset(offset + step)
        return signed64(generator.initial_seed()), offset


def _high_low(constant: int, word: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The upper and lower 32 bits of a 32 x 32 bit product; ``word`` is int64 in [0, 2**32)."""
    low = constant * (word & 0xFFFF)  # below 2**48
    high = constant * (word >> 16)  # below 2**48; shifted by 16 it counts
    middle = high + (low >> 16)
    return middle >> 16, ((middle & 0xFFFF) << 16) | (low & 0xFFFF)


def philox(seed: torch.Tensor, offset: torch.Tensor, counter: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Philox 4x32-10: four int64 tensors of 32-bit words, each in [0, 2**32).

    ``seed``, ``offset``, ``counter``: int64 tensors that broadcast, read as unsigned 64-bit numbers.
    Exactly:

        k0, k1 = seed mod 2**32, seed >> 32
        c0, c1 = counter mod 2**32, counter >> 32
        c2, c3 = offset mod 2**32, offset >> 32
        10 times:
            c0, c1, c2, c3 = (hi(B*c2) ^ c1 ^ k0,  lo(B*c2),  hi(A*c0) ^ c3 ^ k1,  lo(A*c0))
            k0, k1 = (k0 + 0x9E3779B9) mod 2**32, (k1 + 0xBB67AE85) mod 2**32

    with A = 0xD2511F53, B = 0xCD9E8D57, hi and lo the halves of the 64-bit product.
    """
    k0, k1 = seed & _MASK, (seed >> 32) & _MASK
    c0, c1 = counter & _MASK, (counter >> 32) & _MASK
    c2, c3 = offset & _MASK, (offset >> 32) & _MASK
    for _ in range(10):
        high_a, low_a = _high_low(_ROUND_A, c0)
        high_b, low_b = _high_low(_ROUND_B, c2)
        c0, c1, c2, c3 = high_b ^ c1 ^ k0, low_b, high_a ^ c3 ^ k1, low_a
        k0, k1 = (k0 + _KEY_A) & _MASK, (k1 + _KEY_B) & _MASK
    return c0, c1, c2, c3


def _uniform(word: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    signed = torch.where(word >= 1 << 31, word - (1 << 32), word)
    positive = torch.where(signed < 0, -signed - 1, signed)
    return (positive.to(torch.float32) * torch.tensor(UNIFORM_SCALE, dtype=torch.float32)).to(dtype)


def uniform(
    seed: torch.Tensor, offset: torch.Tensor, counter: torch.Tensor, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Numbers in [0, 1): word ``counter % 4`` of ``philox`` at ``counter / 4`` as a signed 32-bit x, then
    ``f32(x if x >= 0 else -x - 1) * f32(4.6566127342e-10)``."""
    words = torch.stack(torch.broadcast_tensors(*philox(seed, offset, (counter >> 2) & (1 << 62) - 1)))
    place = (counter & 3).expand(words.shape[1:])
    return _uniform(words.gather(0, place[None])[0], dtype)


def normal(
    seed: torch.Tensor, offset: torch.Tensor, counter: torch.Tensor, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Normal numbers by Box-Muller: with u1, u2 the uniforms of words 0 and 1,
    ``sqrt(-2 * log(max(1e-7, u1))) * cos(6.283185307179586 * u2)`` in float32 (in ``dtype`` where that is
    wider)."""
    words = philox(seed, offset, counter)
    u1, u2 = _uniform(words[0], dtype), _uniform(words[1], dtype)
    radius = torch.sqrt(-2.0 * torch.log(torch.clamp(u1, min=SMALLEST_UNIFORM)))
    return radius * torch.cos(2.0 * math.pi * u2)
