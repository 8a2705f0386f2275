"""The one table of graph operators, by family."""

# each fills the table
from ..graph_op import FUSION_KINDS, GraphOp, Parameter
from . import calls as _calls  # noqa: F401
from . import create as _create  # noqa: F401
from . import distributed as _distributed  # noqa: F401
from . import elementwise as _elementwise  # noqa: F401
from . import foreign as _foreign  # noqa: F401
from . import gradients as _gradients  # noqa: F401
from . import image as _image  # noqa: F401
from . import index as _index  # noqa: F401
from . import join as _join  # noqa: F401
from . import layout as _layout  # noqa: F401
from . import linear_algebra as _linear_algebra  # noqa: F401
from . import manipulate as _manipulate  # noqa: F401
from . import nn_activation as _nn_activation  # noqa: F401
from . import nn_attention as _nn_attention  # noqa: F401
from . import nn_conv as _nn_conv  # noqa: F401
from . import nn_conv_transpose as _nn_conv_transpose  # noqa: F401
from . import nn_norm as _nn_norm  # noqa: F401
from . import nn_pool as _nn_pool  # noqa: F401
from . import nn_pool_indices as _nn_pool_indices  # noqa: F401
from . import nn_softmax as _nn_softmax  # noqa: F401
from . import quantize as _quantize  # noqa: F401
from . import reduce as _reduce  # noqa: F401
from . import scatter as _scatter  # noqa: F401
from . import slicing as _slicing  # noqa: F401
from . import sort as _sort  # noqa: F401
from . import views as _views  # noqa: F401
from . import vision as _vision  # noqa: F401
from . import vision_boxes as _vision_boxes  # noqa: F401
from . import vision_detection as _vision_detection  # noqa: F401
from .table import GRAPH_OPS, graph_op, register

__all__ = ["FUSION_KINDS", "GRAPH_OPS", "GraphOp", "Parameter", "graph_op", "register"]
