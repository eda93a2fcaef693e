"""Where in the user's program something happened."""

from __future__ import annotations

from jax._base.source import current as current
from jax._base.source import is_user_file as is_user_filename
from jax._base.source import register_exclusion as register_exclusion
from jax._base.source import register_inclusion as register_inclusion
from jax._base.source import summarize as summarize
from jax._base.source import user_context as user_context
from jax._base.source import user_frame as user_frame
from jax._base.source import user_frames as user_frames
from jax._language.jaxpr import SourceInfo as SourceInfo

__all__ = ["SourceInfo", "current", "is_user_filename", "register_exclusion", "register_inclusion", "summarize",
           "user_context", "user_frame", "user_frames"]
