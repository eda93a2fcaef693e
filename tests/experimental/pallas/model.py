"""What a kernel call computes, in NumPy: programs one after another, blocks element by element."""

import numpy as np

from jax.experimental import pallas as pl


def unspecified(dtype):
    dtype = np.dtype(dtype)
    return np.iinfo(dtype).min if dtype.kind in "iu" else False if dtype.kind == "b" else np.nan


def _places(d, at):
    """The elements along an axis that a block has; -1 where it has none."""
    if d is None or isinstance(d, pl.Squeezed):
        return np.array([at])
    if isinstance(d, pl.Element):
        return at - d.padding[0] + np.arange(d.block_size)
    if isinstance(d, pl.BoundedSlice):
        start, size = at.start, at.size
        return np.where(np.arange(d.block_size) < size, start + np.arange(d.block_size), -1)
    if isinstance(d, pl.Indirect):
        return np.asarray(at)
    size = getattr(d, "block_size", d)
    return at * size + np.arange(size)


class _Block:
    def __init__(self, array, spec, at):
        index_map = (lambda *i: (0,) * array.ndim) if spec is None or spec.index_map is None else spec.index_map
        shape = array.shape if spec is None or spec.block_shape is None else spec.block_shape
        found = index_map(*at)
        found = found if isinstance(found, tuple) else (found,)
        axes = [_places(d, i) for d, i in zip(shape, found, strict=True)]
        inside = [(p >= 0) & (p < n) for p, n in zip(axes, array.shape, strict=True)]
        self.inside = np.ix_(*inside)
        self.mesh = np.ix_(*[p[k] for p, k in zip(axes, inside, strict=True)])
        self.whole = np.full([len(p) for p in axes], unspecified(array.dtype), array.dtype)
        self.whole[self.inside] = array[self.mesh]
        dropped = tuple(i for i, d in enumerate(shape) if d is None or isinstance(d, pl.Squeezed))
        self.ref = np.squeeze(self.whole, dropped)  # a view: what the kernel writes is written to ``whole``
        self.array = array

    def put_back(self):
        self.array[self.mesh] = self.whole[self.inside]


def run(kernel, outs, grid, in_specs, out_specs, operands, aliases=()):
    """The results of a kernel that uses ``ref[...]`` alone; ``outs`` are (shape, dtype)."""
    arrays = [np.array(x) for x in operands]
    results = [np.full(shape, unspecified(dtype), dtype) for shape, dtype in outs]
    for i, o in dict(aliases).items():
        results[o][...] = arrays[i]
    for at in np.ndindex(*grid):
        blocks = [_Block(x, s, at) for x, s in zip([*arrays, *results], [*in_specs, *out_specs], strict=True)]
        kernel(*[b.ref for b in blocks])
        for b in blocks:
            b.put_back()
    return results
