"""Estimates of what programs compute, move and send, for comparison with what a device can do at most."""

from jax.experimental.roofline._costs import RooflineResult as RooflineResult
from jax.experimental.roofline._costs import RooflineRuleContext as RooflineRuleContext
from jax.experimental.roofline._costs import RooflineShape as RooflineShape
from jax.experimental.roofline._costs import register_roofline as register_roofline
from jax.experimental.roofline._costs import register_standard_roofline as register_standard_roofline
from jax.experimental.roofline._estimate import roofline as roofline
from jax.experimental.roofline._estimate import roofline_and_grad as roofline_and_grad

__all__ = ["RooflineResult", "RooflineRuleContext", "RooflineShape", "register_roofline", "register_standard_roofline",
           "roofline", "roofline_and_grad"]
