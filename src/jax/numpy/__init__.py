"""``jax.numpy``: NumPy's functions on JAX arrays. An index; one line for each name.

Results follow NumPy 2, with JAX's promotion of dtypes. Functions take arrays and scalars, not lists, and return new
arrays: nothing is changed in place.
"""

import importlib as _importlib
from typing import Any as _Any

from jax._base._jaxlib import Array
from jax._base.source import make_boundaries as _make_boundaries
from jax.numpy._array_methods import astype as astype
from jax.numpy._attributes import array_repr as array_repr
from jax.numpy._attributes import array_str as array_str
from jax.numpy._attributes import get_printoptions as get_printoptions
from jax.numpy._attributes import iterable as iterable
from jax.numpy._attributes import load as load
from jax.numpy._attributes import ndim as ndim
from jax.numpy._attributes import printoptions as printoptions
from jax.numpy._attributes import save as save
from jax.numpy._attributes import savez as savez
from jax.numpy._attributes import set_printoptions as set_printoptions
from jax.numpy._attributes import shape as shape
from jax.numpy._attributes import size as size
from jax.numpy._bits import packbits as packbits
from jax.numpy._bits import unpackbits as unpackbits
from jax.numpy._calculus import diff as diff
from jax.numpy._calculus import ediff1d as ediff1d
from jax.numpy._calculus import gradient as gradient
from jax.numpy._calculus import trapezoid as trapezoid
from jax.numpy._calculus import unwrap_phase as unwrap  # noqa: F401
from jax.numpy._convolution import convolve as convolve
from jax.numpy._convolution import correlate as correlate
from jax.numpy._covariance import corrcoef as corrcoef
from jax.numpy._covariance import cov as cov
from jax.numpy._creation import arange as arange
from jax.numpy._creation import array as array
from jax.numpy._creation import asarray as asarray
from jax.numpy._creation import copy as copy
from jax.numpy._creation import empty as empty
from jax.numpy._creation import empty_like as empty_like
from jax.numpy._creation import from_dlpack as from_dlpack
from jax.numpy._creation import frombuffer as frombuffer
from jax.numpy._creation import fromfile as fromfile
from jax.numpy._creation import fromiter as fromiter
from jax.numpy._creation import fromstring as fromstring
from jax.numpy._creation import full as full
from jax.numpy._creation import full_like as full_like
from jax.numpy._creation import ones as ones
from jax.numpy._creation import ones_like as ones_like
from jax.numpy._creation import zeros as zeros
from jax.numpy._creation import zeros_like as zeros_like
from jax.numpy._cross import cross as cross
from jax.numpy._cross import kron as kron
from jax.numpy._cumulative import cumprod as cumprod
from jax.numpy._cumulative import cumsum as cumsum
from jax.numpy._cumulative import cumulative_prod as cumulative_prod
from jax.numpy._cumulative import cumulative_sum as cumulative_sum
from jax.numpy._cumulative import nancumprod as nancumprod
from jax.numpy._cumulative import nancumsum as nancumsum
from jax.numpy._einsum import einsum as einsum
from jax.numpy._einsum import einsum_path as einsum_path
from jax.numpy._histograms import histogram as histogram
from jax.numpy._histograms import histogram2d as histogram2d
from jax.numpy._histograms import histogram_bin_edges as histogram_bin_edges
from jax.numpy._histograms import histogramdd as histogramdd
from jax.numpy._indexing import ix_ as ix_
from jax.numpy._indexing import put as put
from jax.numpy._indexing import put_along_axis as put_along_axis
from jax.numpy._indexing import ravel_multi_index as ravel_multi_index
from jax.numpy._indexing import take as take
from jax.numpy._indexing import take_along_axis as take_along_axis
from jax.numpy._indexing import unravel_index as unravel_index
from jax.numpy._insertion import delete as delete
from jax.numpy._insertion import insert as insert
from jax.numpy._insertion import resize as resize
from jax.numpy._insertion import trim_zeros as trim_zeros
from jax.numpy._joining import append as append
from jax.numpy._joining import array_split as array_split
from jax.numpy._joining import block as block
from jax.numpy._joining import column_stack as column_stack
from jax.numpy._joining import concat as concat
from jax.numpy._joining import concatenate as concatenate
from jax.numpy._joining import dsplit as dsplit
from jax.numpy._joining import dstack as dstack
from jax.numpy._joining import hsplit as hsplit
from jax.numpy._joining import hstack as hstack
from jax.numpy._joining import repeat as repeat
from jax.numpy._joining import split as split
from jax.numpy._joining import stack as stack
from jax.numpy._joining import tile as tile
from jax.numpy._joining import unstack as unstack
from jax.numpy._joining import vsplit as vsplit
from jax.numpy._joining import vstack as vstack
from jax.numpy._matrices import diag as diag
from jax.numpy._matrices import diag_indices as diag_indices
from jax.numpy._matrices import diag_indices_from as diag_indices_from
from jax.numpy._matrices import diagflat as diagflat
from jax.numpy._matrices import diagonal as diagonal
from jax.numpy._matrices import eye as eye
from jax.numpy._matrices import fill_diagonal as fill_diagonal
from jax.numpy._matrices import identity as identity
from jax.numpy._matrices import mask_indices as mask_indices
from jax.numpy._matrices import trace as trace
from jax.numpy._matrices import tri as tri
from jax.numpy._matrices import tril as tril
from jax.numpy._matrices import tril_indices as tril_indices
from jax.numpy._matrices import tril_indices_from as tril_indices_from
from jax.numpy._matrices import triu as triu
from jax.numpy._matrices import triu_indices as triu_indices
from jax.numpy._matrices import triu_indices_from as triu_indices_from
from jax.numpy._nan_reductions import nanmax as nanmax
from jax.numpy._nan_reductions import nanmean as nanmean
from jax.numpy._nan_reductions import nanmin as nanmin
from jax.numpy._nan_reductions import nanprod as nanprod
from jax.numpy._nan_reductions import nanstd as nanstd
from jax.numpy._nan_reductions import nansum as nansum
from jax.numpy._nan_reductions import nanvar as nanvar
from jax.numpy._pad import pad as pad
from jax.numpy._polyfit import polyfit as polyfit
from jax.numpy._polynomial import poly as poly
from jax.numpy._polynomial import polyadd as polyadd
from jax.numpy._polynomial import polyder as polyder
from jax.numpy._polynomial import polydiv as polydiv
from jax.numpy._polynomial import polyint as polyint
from jax.numpy._polynomial import polymul as polymul
from jax.numpy._polynomial import polysub as polysub
from jax.numpy._polynomial import polyval as polyval
from jax.numpy._polynomial import roots as roots
from jax.numpy._positions import argmax as argmax
from jax.numpy._positions import argmin as argmin
from jax.numpy._positions import nanargmax as nanargmax
from jax.numpy._positions import nanargmin as nanargmin
from jax.numpy._products import dot as dot
from jax.numpy._products import inner as inner
from jax.numpy._products import matmul as matmul
from jax.numpy._products import matvec as matvec
from jax.numpy._products import outer as outer
from jax.numpy._products import tensordot as tensordot
from jax.numpy._products import vdot as vdot
from jax.numpy._products import vecdot as vecdot
from jax.numpy._products import vecmat as vecmat
from jax.numpy._quantiles import median as median
from jax.numpy._quantiles import nanmedian as nanmedian
from jax.numpy._quantiles import nanpercentile as nanpercentile
from jax.numpy._quantiles import nanquantile as nanquantile
from jax.numpy._quantiles import percentile as percentile
from jax.numpy._quantiles import quantile as quantile
from jax.numpy._ranges import c_ as c_
from jax.numpy._ranges import fromfunction as fromfunction
from jax.numpy._ranges import geomspace as geomspace
from jax.numpy._ranges import index_exp as index_exp
from jax.numpy._ranges import indices as indices
from jax.numpy._ranges import linspace as linspace
from jax.numpy._ranges import logspace as logspace
from jax.numpy._ranges import meshgrid as meshgrid
from jax.numpy._ranges import mgrid as mgrid
from jax.numpy._ranges import ogrid as ogrid
from jax.numpy._ranges import r_ as r_
from jax.numpy._ranges import s_ as s_
from jax.numpy._ranges import vander as vander
from jax.numpy._reductions import all as all
from jax.numpy._reductions import amax as amax
from jax.numpy._reductions import amin as amin
from jax.numpy._reductions import any as any
from jax.numpy._reductions import count_nonzero as count_nonzero
from jax.numpy._reductions import max as max
from jax.numpy._reductions import min as min
from jax.numpy._reductions import minmax as minmax
from jax.numpy._reductions import prod as prod
from jax.numpy._reductions import ptp as ptp
from jax.numpy._reductions import sum as sum
from jax.numpy._scalar_types import ComplexWarning as ComplexWarning
from jax.numpy._scalar_types import bfloat16 as bfloat16
from jax.numpy._scalar_types import bool_ as bool_
from jax.numpy._scalar_types import can_cast as can_cast
from jax.numpy._scalar_types import cdouble as cdouble
from jax.numpy._scalar_types import character as character
from jax.numpy._scalar_types import complex64 as complex64
from jax.numpy._scalar_types import complex128 as complex128
from jax.numpy._scalar_types import complex_ as complex_
from jax.numpy._scalar_types import complexfloating as complexfloating
from jax.numpy._scalar_types import csingle as csingle
from jax.numpy._scalar_types import double as double
from jax.numpy._scalar_types import dtype as dtype
from jax.numpy._scalar_types import e as e
from jax.numpy._scalar_types import euler_gamma as euler_gamma
from jax.numpy._scalar_types import finfo as finfo
from jax.numpy._scalar_types import flexible as flexible
from jax.numpy._scalar_types import float4_e2m1fn as float4_e2m1fn
from jax.numpy._scalar_types import float6_e2m3fn as float6_e2m3fn
from jax.numpy._scalar_types import float6_e3m2fn as float6_e3m2fn
from jax.numpy._scalar_types import float8_e3m4 as float8_e3m4
from jax.numpy._scalar_types import float8_e4m3 as float8_e4m3
from jax.numpy._scalar_types import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from jax.numpy._scalar_types import float8_e4m3fn as float8_e4m3fn
from jax.numpy._scalar_types import float8_e4m3fnuz as float8_e4m3fnuz
from jax.numpy._scalar_types import float8_e5m2 as float8_e5m2
from jax.numpy._scalar_types import float8_e5m2fnuz as float8_e5m2fnuz
from jax.numpy._scalar_types import float8_e8m0fnu as float8_e8m0fnu
from jax.numpy._scalar_types import float16 as float16
from jax.numpy._scalar_types import float32 as float32
from jax.numpy._scalar_types import float64 as float64
from jax.numpy._scalar_types import float_ as float_
from jax.numpy._scalar_types import floating as floating
from jax.numpy._scalar_types import generic as generic
from jax.numpy._scalar_types import iinfo as iinfo
from jax.numpy._scalar_types import inexact as inexact
from jax.numpy._scalar_types import inf as inf
from jax.numpy._scalar_types import int1 as int1
from jax.numpy._scalar_types import int2 as int2
from jax.numpy._scalar_types import int4 as int4
from jax.numpy._scalar_types import int8 as int8
from jax.numpy._scalar_types import int16 as int16
from jax.numpy._scalar_types import int32 as int32
from jax.numpy._scalar_types import int64 as int64
from jax.numpy._scalar_types import int_ as int_
from jax.numpy._scalar_types import integer as integer
from jax.numpy._scalar_types import iscomplexobj as iscomplexobj
from jax.numpy._scalar_types import isdtype as isdtype
from jax.numpy._scalar_types import isrealobj as isrealobj
from jax.numpy._scalar_types import isscalar as isscalar
from jax.numpy._scalar_types import issubdtype as issubdtype
from jax.numpy._scalar_types import nan as nan
from jax.numpy._scalar_types import newaxis as newaxis
from jax.numpy._scalar_types import number as number
from jax.numpy._scalar_types import object_ as object_
from jax.numpy._scalar_types import pi as pi
from jax.numpy._scalar_types import promote_types as promote_types
from jax.numpy._scalar_types import result_type as result_type
from jax.numpy._scalar_types import signedinteger as signedinteger
from jax.numpy._scalar_types import single as single
from jax.numpy._scalar_types import uint as uint
from jax.numpy._scalar_types import uint1 as uint1
from jax.numpy._scalar_types import uint2 as uint2
from jax.numpy._scalar_types import uint4 as uint4
from jax.numpy._scalar_types import uint8 as uint8
from jax.numpy._scalar_types import uint16 as uint16
from jax.numpy._scalar_types import uint32 as uint32
from jax.numpy._scalar_types import uint64 as uint64
from jax.numpy._scalar_types import unsignedinteger as unsignedinteger
from jax.numpy._search import bincount as bincount
from jax.numpy._search import digitize as digitize
from jax.numpy._search import interp as interp
from jax.numpy._search import searchsorted as searchsorted
from jax.numpy._selection import apply_along_axis as apply_along_axis
from jax.numpy._selection import apply_over_axes as apply_over_axes
from jax.numpy._selection import argwhere as argwhere
from jax.numpy._selection import choose as choose
from jax.numpy._selection import compress as compress
from jax.numpy._selection import extract as extract
from jax.numpy._selection import flatnonzero as flatnonzero
from jax.numpy._selection import nonzero as nonzero
from jax.numpy._selection import piecewise as piecewise
from jax.numpy._selection import place as place
from jax.numpy._selection import select as select
from jax.numpy._selection import where as where
from jax.numpy._sets import intersect1d as intersect1d
from jax.numpy._sets import isin as isin
from jax.numpy._sets import setdiff1d as setdiff1d
from jax.numpy._sets import setxor1d as setxor1d
from jax.numpy._sets import union1d as union1d
from jax.numpy._sets import unique as unique
from jax.numpy._sets import unique_all as unique_all
from jax.numpy._sets import unique_counts as unique_counts
from jax.numpy._sets import unique_inverse as unique_inverse
from jax.numpy._sets import unique_values as unique_values
from jax.numpy._shape import atleast_1d as atleast_1d
from jax.numpy._shape import atleast_2d as atleast_2d
from jax.numpy._shape import atleast_3d as atleast_3d
from jax.numpy._shape import broadcast_arrays as broadcast_arrays
from jax.numpy._shape import broadcast_shapes as broadcast_shapes
from jax.numpy._shape import broadcast_to as broadcast_to
from jax.numpy._shape import expand_dims as expand_dims
from jax.numpy._shape import flip as flip
from jax.numpy._shape import fliplr as fliplr
from jax.numpy._shape import flipud as flipud
from jax.numpy._shape import matrix_transpose as matrix_transpose
from jax.numpy._shape import moveaxis as moveaxis
from jax.numpy._shape import permute_dims as permute_dims
from jax.numpy._shape import ravel as ravel
from jax.numpy._shape import reshape as reshape
from jax.numpy._shape import roll as roll
from jax.numpy._shape import rollaxis as rollaxis
from jax.numpy._shape import rot90 as rot90
from jax.numpy._shape import squeeze as squeeze
from jax.numpy._shape import swapaxes as swapaxes
from jax.numpy._shape import transpose as transpose
from jax.numpy._sorting import argpartition as argpartition
from jax.numpy._sorting import argsort as argsort
from jax.numpy._sorting import lexsort as lexsort
from jax.numpy._sorting import partition as partition
from jax.numpy._sorting import sort as sort
from jax.numpy._sorting import sort_complex as sort_complex
from jax.numpy._sorting import top_k as top_k
from jax.numpy._statistics import average as average
from jax.numpy._statistics import mean as mean
from jax.numpy._statistics import std as std
from jax.numpy._statistics import var as var
from jax.numpy._ufunc import ufunc as ufunc
from jax.numpy._ufunc_methods import frompyfunc as frompyfunc
from jax.numpy._ufuncs_arithmetic import absolute as absolute
from jax.numpy._ufuncs_arithmetic import add as add
from jax.numpy._ufuncs_arithmetic import divmod as divmod
from jax.numpy._ufuncs_arithmetic import fabs as fabs
from jax.numpy._ufuncs_arithmetic import float_power as float_power
from jax.numpy._ufuncs_arithmetic import floor_divide as floor_divide
from jax.numpy._ufuncs_arithmetic import fmax as fmax
from jax.numpy._ufuncs_arithmetic import fmin as fmin
from jax.numpy._ufuncs_arithmetic import fmod as fmod
from jax.numpy._ufuncs_arithmetic import maximum as maximum
from jax.numpy._ufuncs_arithmetic import minimum as minimum
from jax.numpy._ufuncs_arithmetic import multiply as multiply
from jax.numpy._ufuncs_arithmetic import negative as negative
from jax.numpy._ufuncs_arithmetic import positive as positive
from jax.numpy._ufuncs_arithmetic import power as power
from jax.numpy._ufuncs_arithmetic import reciprocal as reciprocal
from jax.numpy._ufuncs_arithmetic import remainder as remainder
from jax.numpy._ufuncs_arithmetic import sign as sign
from jax.numpy._ufuncs_arithmetic import square as square
from jax.numpy._ufuncs_arithmetic import subtract as subtract
from jax.numpy._ufuncs_arithmetic import true_divide as true_divide
from jax.numpy._ufuncs_elementary import arccos as arccos
from jax.numpy._ufuncs_elementary import arccosh as arccosh
from jax.numpy._ufuncs_elementary import arcsin as arcsin
from jax.numpy._ufuncs_elementary import arcsinh as arcsinh
from jax.numpy._ufuncs_elementary import arctan as arctan
from jax.numpy._ufuncs_elementary import arctan2 as arctan2
from jax.numpy._ufuncs_elementary import arctanh as arctanh
from jax.numpy._ufuncs_elementary import cbrt as cbrt
from jax.numpy._ufuncs_elementary import cos as cos
from jax.numpy._ufuncs_elementary import cosh as cosh
from jax.numpy._ufuncs_elementary import deg2rad as deg2rad
from jax.numpy._ufuncs_elementary import exp as exp
from jax.numpy._ufuncs_elementary import exp2 as exp2
from jax.numpy._ufuncs_elementary import expm1 as expm1
from jax.numpy._ufuncs_elementary import hypot as hypot
from jax.numpy._ufuncs_elementary import i0 as i0
from jax.numpy._ufuncs_elementary import log as log
from jax.numpy._ufuncs_elementary import log1p as log1p
from jax.numpy._ufuncs_elementary import log2 as log2
from jax.numpy._ufuncs_elementary import log10 as log10
from jax.numpy._ufuncs_elementary import logaddexp as logaddexp
from jax.numpy._ufuncs_elementary import logaddexp2 as logaddexp2
from jax.numpy._ufuncs_elementary import rad2deg as rad2deg
from jax.numpy._ufuncs_elementary import sin as sin
from jax.numpy._ufuncs_elementary import sinc as sinc
from jax.numpy._ufuncs_elementary import sinh as sinh
from jax.numpy._ufuncs_elementary import sqrt as sqrt
from jax.numpy._ufuncs_elementary import tan as tan
from jax.numpy._ufuncs_elementary import tanh as tanh
from jax.numpy._ufuncs_floating import angle as angle
from jax.numpy._ufuncs_floating import ceil as ceil
from jax.numpy._ufuncs_floating import clip as clip
from jax.numpy._ufuncs_floating import conjugate as conjugate
from jax.numpy._ufuncs_floating import copysign as copysign
from jax.numpy._ufuncs_floating import fix as fix
from jax.numpy._ufuncs_floating import floor as floor
from jax.numpy._ufuncs_floating import frexp as frexp
from jax.numpy._ufuncs_floating import gcd as gcd
from jax.numpy._ufuncs_floating import heaviside as heaviside
from jax.numpy._ufuncs_floating import imag as imag
from jax.numpy._ufuncs_floating import lcm as lcm
from jax.numpy._ufuncs_floating import ldexp as ldexp
from jax.numpy._ufuncs_floating import modf as modf
from jax.numpy._ufuncs_floating import nan_to_num as nan_to_num
from jax.numpy._ufuncs_floating import nextafter as nextafter
from jax.numpy._ufuncs_floating import real as real
from jax.numpy._ufuncs_floating import rint as rint
from jax.numpy._ufuncs_floating import round as round
from jax.numpy._ufuncs_floating import signbit as signbit
from jax.numpy._ufuncs_floating import spacing as spacing
from jax.numpy._ufuncs_floating import trunc as trunc
from jax.numpy._ufuncs_logical import allclose as allclose
from jax.numpy._ufuncs_logical import array_equal as array_equal
from jax.numpy._ufuncs_logical import array_equiv as array_equiv
from jax.numpy._ufuncs_logical import bitwise_and as bitwise_and
from jax.numpy._ufuncs_logical import bitwise_count as bitwise_count
from jax.numpy._ufuncs_logical import bitwise_left_shift as bitwise_left_shift
from jax.numpy._ufuncs_logical import bitwise_not as bitwise_not
from jax.numpy._ufuncs_logical import bitwise_or as bitwise_or
from jax.numpy._ufuncs_logical import bitwise_right_shift as bitwise_right_shift
from jax.numpy._ufuncs_logical import bitwise_xor as bitwise_xor
from jax.numpy._ufuncs_logical import equal as equal
from jax.numpy._ufuncs_logical import greater as greater
from jax.numpy._ufuncs_logical import greater_equal as greater_equal
from jax.numpy._ufuncs_logical import invert as invert
from jax.numpy._ufuncs_logical import isclose as isclose
from jax.numpy._ufuncs_logical import iscomplex as iscomplex
from jax.numpy._ufuncs_logical import isfinite as isfinite
from jax.numpy._ufuncs_logical import isinf as isinf
from jax.numpy._ufuncs_logical import isnan as isnan
from jax.numpy._ufuncs_logical import isneginf as isneginf
from jax.numpy._ufuncs_logical import isposinf as isposinf
from jax.numpy._ufuncs_logical import isreal as isreal
from jax.numpy._ufuncs_logical import left_shift as left_shift
from jax.numpy._ufuncs_logical import less as less
from jax.numpy._ufuncs_logical import less_equal as less_equal
from jax.numpy._ufuncs_logical import logical_and as logical_and
from jax.numpy._ufuncs_logical import logical_not as logical_not
from jax.numpy._ufuncs_logical import logical_or as logical_or
from jax.numpy._ufuncs_logical import logical_xor as logical_xor
from jax.numpy._ufuncs_logical import not_equal as not_equal
from jax.numpy._ufuncs_logical import right_shift as right_shift
from jax.numpy._vectorize import vectorize as vectorize
from jax.numpy._windows import bartlett as bartlett
from jax.numpy._windows import blackman as blackman
from jax.numpy._windows import hamming as hamming
from jax.numpy._windows import hanning as hanning
from jax.numpy._windows import kaiser as kaiser

ndarray = Array
del Array

# Other names of functions above.
abs = absolute
acos = arccos
acosh = arccosh
around = round
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_invert = invert
bool = bool_
conj = conjugate
degrees = rad2deg
divide = true_divide
mod = remainder
pow = power
radians = deg2rad
round_ = round

_make_boundaries(globals())
_lazy_modules = frozenset({"fft", "linalg"})


def __getattr__(name: str) -> _Any:
    if name in _lazy_modules:
        return _importlib.import_module(f"jax.numpy.{name}")
    raise AttributeError(f"module 'jax.numpy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_lazy_modules})
