"""The examples in docstrings of public names do what they show."""

from __future__ import annotations

import builtins
import doctest
import importlib
import io

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from docs.tools import reference

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(module):
    """A doctest for each public name of a module, and each member of its classes, that shows an example."""
    for entry in reference.entries(module):
        for part in (entry, *entry.members):
            if ">>>" in part.doc:
                names = {k: v for k, v in vars(importlib.import_module(module)).items() if not hasattr(builtins, k)}
                names |= {"jax": jax, "jnp": jnp, "np": np}
                names |= {entry.name: entry.value, getattr(entry.value, "__name__", entry.name): entry.value}
                yield doctest.DocTestParser().get_doctest(part.doc, names, part.anchor, None, None)


@pytest.mark.parametrize("module", [m for m in reference.modules() if any(examples(m))])
def test_examples_of(module):
    output = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    for example in examples(module):
        runner.run(example, out=output.write)
    assert runner.summarize(verbose=False).failed == 0, output.getvalue()


def test_wrong_examples_are_found():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(wrong, out=lambda text: None).failed == 1
