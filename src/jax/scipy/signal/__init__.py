"""``jax.scipy.signal``: convolutions, spectra and trends. An index."""

from jax.scipy.signal._convolution import convolve as convolve
from jax.scipy.signal._convolution import convolve2d as convolve2d
from jax.scipy.signal._convolution import correlate as correlate
from jax.scipy.signal._convolution import correlate2d as correlate2d
from jax.scipy.signal._convolution import fftconvolve as fftconvolve
from jax.scipy.signal._spectra import csd as csd
from jax.scipy.signal._spectra import istft as istft
from jax.scipy.signal._spectra import stft as stft
from jax.scipy.signal._spectra import welch as welch
from jax.scipy.signal._trends import detrend as detrend
