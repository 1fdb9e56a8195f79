"""Generators of random configurations, a file a family of operators."""

from . import classical, common, contributed, elements, images, indices, integers, sequences  # noqa: F401
from .case import GENERATORS, Chooser, Unfit  # noqa: F401
