"""Numbers from names: every input and weight follows from its name, so no random generator is shared."""

import numpy as np

MASK = (1 << 64) - 1


def name_hash(name):
    """FNV-1a of the name's UTF-8 bytes, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def name_bits(name, count):
    """The upper 24 bits of splitmix64's first `count` outputs from the name's hash on."""
    with np.errstate(over="ignore"):
        z = np.uint64(name_hash(name)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))) >> np.uint64(40)


def unit(name, shape):
    """Doubles in [0, 1)."""
    return (name_bits(name, int(np.prod(shape, dtype=np.int64))).astype(np.float64) * 2.0**-24).reshape(shape)


def uniform(name, shape, scale=1.0, shift=0.0):
    """float32 numbers between shift - scale and shift + scale."""
    return (shift + (2 * unit(name, shape) - 1) * scale).astype(np.float32)


def integers(name, shape, low, high):
    """Integers from low to high - 1."""
    return (low + np.floor(unit(name, shape) * (high - low))).astype(np.int64)


def self_check():
    """Three values that every implementation of these numbers must give."""
    assert name_hash("input") == 0x1EBBAE8F5810B65B
    assert list(name_bits("input", 3)) == [1641119, 10944791, 3416248]
    bits = uniform("hg.pre.0.conv.weight", [3], np.sqrt(3 / 147)).view(np.uint32)
    assert list(bits) == [1033748258, 1025466359, 3186170978]
