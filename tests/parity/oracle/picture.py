"""Pictures (H, W, 3): resizing, and pasting a part of one."""

import numpy as np

MEAN = np.array([0.40789654, 0.44719302, 0.47026115])  # blue, green, red
STD = np.array([0.28863828, 0.27408164, 0.27809835])


def neighbours(size, new_size, kind=np.float64):
    """For each of new_size places the two places of `size` beside it, and the second one's weight (half-pixel centres).
    At the ends both are the same place."""
    places = ((np.arange(new_size) + 0.5) * (size / new_size) - 0.5).astype(kind)
    first = np.floor(places).astype(np.int64)
    return np.clip(first, 0, size - 1), np.clip(first + 1, 0, size - 1), places - first


def resize(picture, height, width):
    """Bilinear, in double precision."""
    up, down, v = neighbours(picture.shape[0], height)
    left, right, u = neighbours(picture.shape[1], width)
    u, v = u[:, None], v[:, None, None]
    across = picture[:, left] * (1 - u) + picture[:, right] * u
    return across[up] * (1 - v) + across[down] * v


def resize_bytes(picture, height, width):
    """Bilinear in fixed point, as OpenCV does it for bytes: weights of 11 bits; half the size is the mean of 2 x 2."""
    if picture.shape[:2] == (height, width):
        return picture.copy()
    wide = picture.astype(np.int64)
    if picture.shape[:2] == (2 * height, 2 * width):
        return ((wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2] + 2) >> 2).astype(np.uint8)

    def weights(of_second):
        one = np.float32(1)
        return (np.rint(each * np.float32(2048)).astype(np.int64) for each in (one - of_second, of_second))

    up, down, v = neighbours(picture.shape[0], height, np.float32)
    left, right, u = neighbours(picture.shape[1], width, np.float32)
    u0, u1 = (each[:, None] for each in weights(u))
    v0, v1 = (each[:, None, None] for each in weights(v))
    across = wide[:, left] * u0 + wide[:, right] * u1
    return (((v0 * (across[up] >> 4) >> 16) + (v1 * (across[down] >> 4) >> 16) + 2) >> 2).astype(np.uint8)


def paste(picture, centre, height, width):
    """A height x width part of the picture, 0 outside of it, in whose middle is `centre` (y, x), and the rectangle that
    the picture fills: top, bottom, left, right. Halves are whole numbers: of an odd size the last line stays 0."""
    out = np.zeros((height, width) + picture.shape[2:], picture.dtype)
    filled, taken = [], []
    for middle, size, extent in zip(centre, (height, width), picture.shape):
        begin, end = max(0, middle - size // 2), min(middle + size // 2, extent)
        shift = size // 2 - middle
        taken.append(slice(begin, end))
        filled += [begin + shift, end + shift]
    out[filled[0]:filled[1], filled[2]:filled[3]] = picture[taken[0], taken[1]]
    return out, filled
