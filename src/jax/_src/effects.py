"""View on effects, and on which of them may occur where."""

from __future__ import annotations

from jax._language.effects import Effect as Effect
from jax._language.effects import EffectTypeSet as EffectTypeSet
from jax._language.effects import control_flow_allowed_effects as control_flow_allowed_effects
from jax._language.effects import custom_derivatives_allowed_effects as custom_derivatives_allowed_effects
from jax._language.effects import lowerable_effects as lowerable_effects
from jax._language.effects import no_effects as no_effects
from jax._language.effects import ordered_effects as ordered_effects
from jax._language.effects import remat_allowed_effects as remat_allowed_effects

__all__ = ["Effect", "EffectTypeSet", "control_flow_allowed_effects", "custom_derivatives_allowed_effects",
           "lowerable_effects", "no_effects", "ordered_effects", "remat_allowed_effects"]
