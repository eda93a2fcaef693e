"""Records of products and convolutions."""

from __future__ import annotations

import functools

import numpy as np

from jax import lax
from tests import window_model
from tests.ops import Op, number

part = functools.partial


def _dot(name, x_shape, y_shape, numbers, spec, dtypes=("float64",), **params):
    def reference(x, y):
        if x.dtype == bool:
            return np.einsum(spec, x.astype(int), y.astype(int)) > 0
        return np.einsum(spec, x, y)
    return Op(f"dot_general-{name}", lambda x, y: lax.dot_general(x, y, numbers, **params),
              (number(shape=x_shape), number(shape=y_shape)), dtypes, reference, tol=20)


MATRICES = (((1,), (0,)), ((), ()))
PRODUCTS = [
    _dot("matrix", (2, 3), (3, 4), MATRICES, "ij,jk->ik",
         ("float32", "float64", "bfloat16", "complex64", "complex128", "int32", "uint8", "bool")),
    _dot("right-transposed", (2, 3), (4, 3), (((1,), (1,)), ((), ())), "ij,kj->ik"),
    _dot("left-transposed", (3, 2), (3, 4), (((0,), (0,)), ((), ())), "ji,jk->ik"),
    _dot("outer", (2, 3), (4,), (((), ()), ((), ())), "ij,k->ijk"),
    _dot("full", (2, 3), (3, 2), (((0, 1), (1, 0)), ((), ())), "ij,ji->"),
    _dot("scalar", (), (2, 3), (((), ()), ((), ())), ",ij->ij", ("float64", "float32")),
    _dot("scalars", (), (), (((), ()), ((), ())), ",->"),
    _dot("batch", (2, 5, 3), (2, 3, 4), (((2,), (1,)), ((0,), (0,))), "bij,bjk->bik", ("float64", "complex128")),
    _dot("batch-last", (3, 5, 2), (4, 3, 2), (((0,), (1,)), ((2,), (2,))), "jib,kjb->bik"),
    _dot("batch-two", (2, 3, 4, 5), (5, 3, 2, 6), (((3,), (0,)), ((1, 0), (1, 2))), "abij,jbak->baik"),
    _dot("contract-two", (2, 3, 4, 5), (4, 6, 3), (((2, 1), (0, 2)), ((), ())), "abcd,ceb->ade"),
    _dot("only-batch", (2, 3), (3, 2), (((), ()), ((0, 1), (1, 0))), "ab,ba->ab"),
    _dot("empty", (2, 0), (0, 4), MATRICES, "ij,jk->ik", ("float64", "int32")),
    _dot("preferred", (2, 3), (3, 4), MATRICES, "ij,jk->ik", ("bfloat16", "int8"),
         preferred_element_type=np.dtype(np.float32)),
    _dot("precision", (2, 3), (3, 4), MATRICES, "ij,jk->ik", ("float32", "float64"), precision=("highest", "default")),
    Op("dot-matrix-vector", lax.dot, (number(shape=(2, 3)), number(shape=(3,))), ("float64",), np.dot),
    Op("dot-vectors", lax.dot, (number(shape=(3,)), number(shape=(3,))), ("float64", "int32"), np.dot),
    Op("batch_matmul", lax.batch_matmul, (number(shape=(2, 5, 3)), number(shape=(2, 3, 4))), ("float64",), np.matmul),
    Op("dot-mixed", lambda x, y: lax.dot(x, y.astype(np.int32)), (number(shape=(2, 3)), number(-5, 5, (3, 4))),
       ("float32", "float64"), lambda x, y: x @ np.trunc(y), grad=(0,)),
]


def _positions(letters, order):
    return [order.index(x) for x in letters]


def _conv(name, x_shape, k_shape, strides, padding, *, layout=None, dtypes=("float64",), order=1, vmap=True, **params):
    """Shapes are those of (batch, feature, spatial ...) and (out, in, spatial ...), whatever the layout."""
    def reference(x, k):
        if layout is not None:
            x = x.transpose(np.argsort(_positions(layout[0], "NCHW")))
            k = k.transpose(np.argsort(_positions(layout[1], "OIHW")))
        out = window_model.convolve(x, k, strides, padding, params.get("lhs_dilation"), params.get("rhs_dilation"),
                                    params.get("feature_group_count", 1), params.get("batch_group_count", 1))
        return out if layout is None else out.transpose(_positions(layout[2], "NCHW"))
    if layout is not None:
        x_shape = tuple(x_shape[i] for i in _positions(layout[0], "NCHW"))
        k_shape = tuple(k_shape[i] for i in _positions(layout[1], "OIHW"))
    fn = part(lax.conv_general_dilated, window_strides=strides, padding=padding, dimension_numbers=layout, **params)
    return Op(f"conv-{name}", fn, (number(shape=x_shape), number(shape=k_shape)), dtypes, reference, tol=50, order=order,
              vmap=vmap)


CONVOLUTIONS = [
    _conv("plain", (2, 3, 5, 6), (4, 3, 2, 3), (1, 1), ((0, 0), (0, 0)),
          dtypes=("float32", "float64", "complex128", "int32"), order=2),
    _conv("padded-strided", (2, 3, 5, 6), (4, 3, 2, 3), (2, 1), ((1, 0), (2, 1))),
    _conv("cut", (2, 2, 5, 6), (2, 2, 2, 2), (1, 2), ((-1, 1), (0, -2))),
    _conv("dilated", (2, 2, 4, 5), (3, 2, 2, 2), (1, 2), ((1, 1), (0, 2)), lhs_dilation=(2, 1), rhs_dilation=(1, 2)),
    _conv("dilated-both", (1, 2, 4, 4), (2, 2, 2, 2), (2, 3), ((2, 1), (3, 2)), lhs_dilation=(2, 3), rhs_dilation=(2, 3)),
    _conv("channels-last", (2, 3, 5, 4), (4, 3, 2, 2), (1, 2), ((1, 1), (0, 1)), layout=("NHWC", "HWIO", "NHWC")),
    _conv("odd-layout", (2, 3, 5, 4), (4, 3, 2, 2), (1, 2), ((1, 1), (0, 1)), layout=("HCNW", "IHOW", "CWNH")),
    _conv("groups", (2, 6, 4, 5), (4, 3, 2, 2), (1, 2), ((1, 1), (0, 1)), feature_group_count=2),
    _conv("groups-last", (2, 6, 4, 5), (4, 3, 2, 2), (1, 2), ((1, 1), (0, 1)), feature_group_count=2,
          layout=("NHWC", "HWIO", "NHWC")),
    _conv("depthwise", (2, 4, 3, 4), (8, 1, 2, 2), (1, 2), ((1, 1), (0, 1)), feature_group_count=4,
          dtypes=("float64", "float32", "bfloat16", "int32")),
    _conv("depthwise-dilated", (2, 4, 3, 4), (4, 1, 3, 2), (2, 1), ((2, -1), (0, 1)), feature_group_count=4,
          lhs_dilation=(2, 1), rhs_dilation=(1, 2), layout=("NHWC", "HWIO", "HNWC"), vmap=False),
    _conv("small-groups", (1, 8, 3, 4), (4, 2, 2, 2), (1, 1), ((1, 1), (0, 1)), feature_group_count=4, vmap=False),
    _conv("batch-groups", (4, 3, 4, 5), (4, 3, 2, 2), (1, 2), ((1, 1), (0, 1)), batch_group_count=2),
    _conv("batch-all", (3, 2, 4, 5), (3, 2, 3, 4), (1, 1), ((1, 1), (0, 1)), batch_group_count=3),
    _conv("line", (2, 3, 7), (4, 3, 3), (2,), ((1, 2),)),
    _conv("no-space", (2, 3), (4, 3), (), ()),
    _conv("volume", (1, 2, 3, 3, 3), (2, 2, 2, 2, 2), (1, 1, 2), ((1, 0), (0, 1), (1, 1)), vmap=False),
    Op("conv-empty", lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID"),
       (number(shape=(0, 2, 3, 3)), number(shape=(4, 2, 2, 2))), ("float64",), lambda x, k: np.zeros((0, 4, 2, 2)),
       order=1, vmap=False),
    Op("conv-preferred",
       lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID", preferred_element_type=np.dtype(np.float32)),
       (number(shape=(1, 2, 3, 3)), number(shape=(2, 2, 2, 2))), ("bfloat16",),
       lambda x, k: window_model.convolve(x, k, (1, 1), ((0, 0), (0, 0))), vmap=False, tol=10),
]

DENSE = [*PRODUCTS, *CONVOLUTIONS]
