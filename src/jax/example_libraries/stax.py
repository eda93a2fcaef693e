"""Neural networks as pairs of functions.

A layer is a pair ``(init_fun, apply_fun)``::

    output_shape, params = init_fun(key, input_shape)
    output = apply_fun(params, inputs, rng=key)

Combinators such as :func:`serial` make networks, which are layers again, from layers. Only layers with random behaviour
(:func:`Dropout`) need the ``rng`` argument. In shapes, ``-1`` stands for a size that does not matter yet, such as that of a
batch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from jax import lax, random
from jax import numpy as jnp
from jax._api.staged import eval_shape
from jax.nn import elu, gelu, leaky_relu, log_softmax, relu, selu, sigmoid, softmax, softplus, standardize
from jax.nn.initializers import glorot_normal, normal, ones, zeros
from jax.stages import ShapeDtypeStruct

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu", "Exp", "FanInConcat",
    "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv", "GeneralConvTranspose", "Identity", "LeakyRelu",
    "LogSoftmax", "MaxPool", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise",
    "parallel", "serial", "shape_dependent",
]

# A layer: ``init_fun(key, input_shape) -> (output_shape, parameters)`` and ``apply_fun(parameters, inputs)``.
Layer = tuple[Callable[..., Any], Callable[..., Any]]
# Sizes of the axes of an array, the batch's first; -1 where it does not matter.
Shape = tuple[int, ...]
glorot, randn, logsoftmax = glorot_normal, normal, log_softmax  # older names
_glorot, _small, _tiny = glorot_normal(), normal(), normal(1e-6)


# --- linear layers --------------------------------------------------------------------------------------------------

def Dense(out_dim: int, W_init: Any = _glorot, b_init: Any = _small) -> Layer:  # noqa: N802,N803 (API's names)
    """A fully connected layer on the last axis: ``inputs @ W + b``.

    >>> import jax, jax.numpy as jnp
    >>> init_fun, apply_fun = Dense(3)
    >>> shape, params = init_fun(jax.random.key(0), (-1, 2))
    >>> shape, apply_fun(params, jnp.ones((4, 2))).shape
    ((-1, 3), (4, 3))
    """
    def init_fun(rng: Any, input_shape: Shape) -> Any:
        for_w, for_b = random.split(rng)
        params = W_init(for_w, (input_shape[-1], out_dim)), b_init(for_b, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return jnp.dot(inputs, w) + b
    return init_fun, apply_fun


def _filters(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int], W_init: Any, b_init: Any,  # noqa: N803
             ) -> Callable[[Any, Shape], tuple[Any, Any]]:
    """How a convolution's filters and biases are made for inputs of a shape."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    make = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init(rng: Any, input_shape: Shape) -> tuple[Any, Any]:
        if len(input_shape) != len(lhs_spec):
            raise ValueError(f"stax: this convolution takes inputs with the axes {lhs_spec}, got the shape {input_shape}")
        window = iter(filter_shape)
        sizes = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        shape = tuple([sizes[c] if c in sizes else next(window) for c in rhs_spec])
        for_w, for_b = random.split(rng)
        return make(for_w, shape), b_init(for_b, tuple([out_chan if c == "C" else 1 for c in out_spec]))
    return init


def GeneralConv(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int],  # noqa: N802 (the API's name)
                strides: Sequence[int] | None = None, padding: Any = "VALID", W_init: Any = None,  # noqa: N803
                b_init: Any = _tiny) -> Layer:
    """A convolution.

    Args:
      dimension_numbers: what the axes of inputs, filters and outputs mean, like ``("NHWC", "HWIO", "NHWC")``.
      out_chan: the number of output channels.
      filter_shape: the size of the window.
      strides: of the window, by default 1.
      padding: ``"VALID"``, ``"SAME"`` or pairs of numbers, see :func:`jax.lax.conv_general_dilated`.
      W_init, b_init: initialisers of filters and biases.
    """
    init = _filters(dimension_numbers, out_chan, filter_shape, W_init, b_init)
    strides = tuple(strides) if strides else (1,) * len(filter_shape)

    def run(inputs: Any, w: Any) -> Any:
        return lax.conv_general_dilated(inputs, w, strides, padding, (1,) * len(strides), (1,) * len(strides),
                                        dimension_numbers)
    return _convolution(init, run)


def GeneralConvTranspose(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int],  # noqa: N802 (API's name)
                         strides: Sequence[int] | None = None, padding: Any = "VALID", W_init: Any = None,  # noqa: N803
                         b_init: Any = _tiny) -> Layer:
    """A transposed convolution, which enlarges its inputs by the strides; arguments as for :func:`GeneralConv`."""
    init = _filters(dimension_numbers, out_chan, filter_shape, W_init, b_init)
    strides = tuple(strides) if strides else (1,) * len(filter_shape)

    def run(inputs: Any, w: Any) -> Any:
        return lax.conv_transpose(inputs, w, strides, padding, dimension_numbers=dimension_numbers)
    return _convolution(init, run)


def _convolution(init: Any, run: Any) -> Layer:
    def init_fun(rng: Any, input_shape: Shape) -> Any:
        w, b = init(rng, input_shape)
        return _output_shape(lambda x: run(x, w), input_shape), (w, b)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return run(inputs, w) + b
    return init_fun, apply_fun


def _output_shape(fun: Any, input_shape: Shape) -> Shape:
    """The shape of ``fun``'s result; a leading size of -1 is kept."""
    unknown = [i for i, d in enumerate(input_shape) if d == -1]
    shape = tuple([1 if d == -1 else d for d in input_shape])
    out = eval_shape(fun, ShapeDtypeStruct(shape, jnp.float32)).shape
    return tuple([-1 if i in unknown else d for i, d in enumerate(out)])


# Layer: a convolution of images, channels last; arguments as for ``GeneralConv`` after the first.
Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
# Layer: a transposed convolution of sequences, channels last.
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
# Layer: a transposed convolution of images, channels last.
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(axis: Any = (0, 1, 2), epsilon: float = 1e-5, center: bool = True, scale: bool = True,  # noqa: N802
              beta_init: Any = zeros, gamma_init: Any = ones) -> Layer:
    """Standardises over ``axis``, by the statistics of the batch, then scales (``gamma``) and shifts (``beta``)."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        shape = tuple([d for i, d in enumerate(input_shape) if i not in axes])
        for_beta, for_gamma = random.split(rng)
        return input_shape, (beta_init(for_beta, shape) if center else (), gamma_init(for_gamma, shape) if scale else ())

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        place = tuple([None if i in axes else slice(None) for i in range(jnp.ndim(inputs))])
        out = standardize(inputs, axes, epsilon=epsilon)
        if scale:
            out = gamma[place] * out
        return out + beta[place] if center else out
    return init_fun, apply_fun


# --- functions of each element --------------------------------------------------------------------------------------

def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer without parameters that applies ``fun(inputs, **fun_kwargs)``, which keeps the shape."""
    return lambda rng, input_shape: (input_shape, ()), lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs)


# Layer: the exponential linear unit.
Elu = elementwise(elu)
# Layer: the exponential.
Exp = elementwise(jnp.exp)
# Layer: the Gaussian error linear unit.
Gelu = elementwise(gelu)
# Layer: the identity.
Identity = elementwise(lambda x: x)
# Layer: the rectifier with a small slope below 0.
LeakyRelu = elementwise(leaky_relu)
# Layer: the logarithm of the softmax over the last axis.
LogSoftmax = elementwise(log_softmax, axis=-1)
# Layer: the rectifier, ``max(x, 0)``.
Relu = elementwise(relu)
# Layer: the scaled exponential linear unit.
Selu = elementwise(selu)
# Layer: the logistic function.
Sigmoid = elementwise(sigmoid)
# Layer: the softmax over the last axis.
Softmax = elementwise(softmax, axis=-1)
# Layer: the softplus, ``log(1 + exp(x))``.
Softplus = elementwise(softplus)
# Layer: the hyperbolic tangent.
Tanh = elementwise(jnp.tanh)


# --- pooling --------------------------------------------------------------------------------------------------------

def MaxPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",  # noqa: N802
            spec: str | None = None) -> Layer:
    """The maximum over a window.

    Args:
      window_shape: the sizes of the window.
      strides: of the window, by default 1.
      padding: ``"VALID"`` or ``"SAME"``.
      spec: what the axes mean; those of ``N`` and ``C`` are not pooled. By default the first and the last one.
    """
    return _pooling(lax.max, -jnp.inf, window_shape, strides, padding, spec, False)


def SumPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",  # noqa: N802
            spec: str | None = None) -> Layer:
    """The sum over a window; arguments as for :func:`MaxPool`."""
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, False)


def AvgPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",  # noqa: N802
            spec: str | None = None) -> Layer:
    """The mean over a window, over those elements of it that are inside of the input; arguments as for :func:`MaxPool`."""
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, True)


def _pooling(reducer: Any, start: float, window_shape: Sequence[int], strides: Any, padding: Any, spec: str | None,
             mean: bool) -> Layer:
    steps = tuple(strides) if strides else (1,) * len(window_shape)
    if spec is None:
        places = list(range(1, len(window_shape) + 1))
        rank = len(window_shape) + 2
    else:
        places, rank = [i for i, c in enumerate(spec) if c not in "NC"], len(spec)
    window, strides_all = [1] * rank, [1] * rank
    for i, size, step in zip(places, window_shape, steps, strict=True):
        window[i], strides_all[i] = size, step

    def pool(x: Any) -> Any:
        return lax.reduce_window(x, jnp.asarray(start, x.dtype), reducer, tuple(window), tuple(strides_all), padding)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        out = pool(inputs)
        if mean:
            counted = tuple([n if i in places else 1 for i, n in enumerate(jnp.shape(inputs))])
            out = out / pool(jnp.ones(counted, inputs.dtype))
        return out
    return lambda rng, input_shape: (_output_shape(pool, input_shape), ()), apply_fun


# --- shapes, randomness ---------------------------------------------------------------------------------------------

def _flatten_init(rng: Any, input_shape: Shape) -> Any:
    return (input_shape[0], math.prod(input_shape[1:])), ()


def _flatten(params: Any, inputs: Any, **kwargs: Any) -> Any:
    return jnp.reshape(inputs, (inputs.shape[0], -1))


# Layer: all axes but the first become one.
Flatten = (_flatten_init, _flatten)


def Dropout(rate: float, mode: str = "train") -> Layer:  # noqa: N802 (the API's name)
    """Zeroes elements at random in the mode ``"train"``, and does nothing in others.

    ``rate`` is the probability with which an element is *kept*; what is kept is divided by it. ``apply_fun`` needs a key
    as ``rng``.
    """
    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        key = kwargs.get("rng")
        if mode != "train":
            return inputs
        if key is None:
            raise ValueError("stax.Dropout needs a key: apply_fun(params, inputs, rng=key). For evaluation, make the "
                             "network with mode='test', which takes none.")
        keep = random.bernoulli(key, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)
    return lambda rng, input_shape: (input_shape, ()), apply_fun


# --- networks -------------------------------------------------------------------------------------------------------

def FanOut(num: int) -> Layer:  # noqa: N802 (the API's name)
    """``num`` times the input, for branches of :func:`parallel`."""
    return lambda rng, shape: ([shape] * num, ()), lambda params, inputs, **kwargs: [inputs] * num


def FanInConcat(axis: int = -1) -> Layer:  # noqa: N802 (the API's name)
    """Joins the outputs of branches along an axis."""
    def init_fun(rng: Any, input_shape: Sequence[Shape]) -> Any:
        first = list(input_shape[0])
        first[axis] = sum(shape[axis] for shape in input_shape)
        return tuple(first), ()
    return init_fun, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def _fan_in_sum_init(rng: Any, input_shape: Sequence[Shape]) -> Any:
    return input_shape[0], ()


def _fan_in_sum(params: Any, inputs: Any, **kwargs: Any) -> Any:
    return functools.reduce(jnp.add, inputs)


# Layer: the sum of the outputs of branches.
FanInSum = (_fan_in_sum_init, _fan_in_sum)


def _keys(rng: Any, count: int) -> Any:
    return random.split(rng, count) if rng is not None else [None] * count


def serial(*layers: Layer) -> Layer:
    """One layer after the other; parameters are the list of theirs."""
    inits, applies = _pairs("serial", layers)

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init in inits:
            rng, own = random.split(rng)
            input_shape, found = init(own, input_shape)
            params.append(found)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for apply, own, key in zip(applies, params, keys, strict=True):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs
    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, each on its own input (see :func:`FanOut`, ``FanInSum``); parameters are the list of theirs."""
    inits, applies = _pairs("parallel", layers)

    def init_fun(rng: Any, input_shape: Any) -> Any:
        keys = random.split(rng, len(layers))
        results = [init(key, shape) for init, key, shape in zip(inits, keys, input_shape, strict=True)]
        return [shape for shape, _ in results], [params for _, params in results]

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        return [apply(own, x, rng=key, **kwargs)
                for apply, own, x, key in zip(applies, params, inputs, keys, strict=True)]
    return init_fun, apply_fun


def _pairs(name: str, layers: Sequence[Layer]) -> tuple[list[Any], list[Any]]:
    for layer in layers:
        if not isinstance(layer, (tuple, list)) or len(layer) != 2:
            hint = " Call it with its settings first." if callable(layer) else ""
            raise TypeError(f"stax.{name} takes layers, pairs (init_fun, apply_fun); got {layer!r}.{hint}")
    return [init for init, _ in layers], [apply for _, apply in layers]


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known: ``make_layer(input_shape)`` returns it."""
    def init_fun(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        shape = [jnp.shape(x) for x in inputs] if isinstance(inputs, (list, tuple)) else jnp.shape(inputs)
        return make_layer(shape)[1](params, inputs, **kwargs)
    return init_fun, apply_fun
