"""The one table of ONNX operators: how a node becomes calls of graph operators. A rule is one function of a family."""

from . import boxes as _boxes  # noqa: F401  (these fill the table)
from . import deformable as _deformable  # noqa: F401
from . import determinant as _determinant  # noqa: F401
from . import elementwise as _elementwise  # noqa: F401
from . import features as _features  # noqa: F401
from . import image as _image  # noqa: F401
from . import index as _index  # noqa: F401
from . import integer as _integer  # noqa: F401
from . import layout as _layout  # noqa: F401
from . import learning as _learning  # noqa: F401
from . import microsoft as _microsoft  # noqa: F401
from . import microsoft_attention as _microsoft_attention  # noqa: F401
from . import microsoft_integer as _microsoft_integer  # noqa: F401
from . import ngrams as _ngrams  # noqa: F401
from . import nn as _nn  # noqa: F401
from . import random as _random  # noqa: F401
from . import recurrent as _recurrent  # noqa: F401
from . import reduce as _reduce  # noqa: F401
from . import signal as _signal  # noqa: F401
from . import support_vectors as _support_vectors  # noqa: F401
from . import tree_ensembles as _tree_ensembles  # noqa: F401
from . import trees as _trees  # noqa: F401
from . import windows as _windows  # noqa: F401
from .table import OPERATORS

__all__ = ["OPERATORS"]
