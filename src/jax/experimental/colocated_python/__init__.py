"""Python functions run on the hosts of devices.

In a process that sees its own devices only, their host is the process itself: functions are called here, on arrays on CPU
devices. Devices of other hosts need a runtime that sends functions there, which PJRT clients are not.
"""

from jax.experimental.colocated_python import api as api
from jax.experimental.colocated_python import func as func
from jax.experimental.colocated_python import func_backend as func_backend
from jax.experimental.colocated_python import obj as obj
from jax.experimental.colocated_python import obj_backend as obj_backend
from jax.experimental.colocated_python import serialization as serialization
from jax.experimental.colocated_python.api import colocated_cpu_devices as colocated_cpu_devices
from jax.experimental.colocated_python.api import colocated_python as colocated_python
from jax.experimental.colocated_python.api import colocated_python_class as colocated_python_class
from jax.experimental.colocated_python.func import ColocatedFunction as ColocatedFunction

__all__ = ["ColocatedFunction", "colocated_cpu_devices", "colocated_python", "colocated_python_class"]
