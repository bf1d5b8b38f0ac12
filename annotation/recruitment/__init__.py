"""Where raters come from: one interface, and an adapter for each kind of channel.

Importing this package registers the adapters.
"""

from annotation.recruitment import accounts as accounts
from annotation.recruitment import anonymous as anonymous
from annotation.recruitment import mturk as mturk
from annotation.recruitment import prolific as prolific
from annotation.recruitment.base import ADAPTERS, Adapter, Farewell, Outcome, Panel, adapter_of, register

__all__ = ["ADAPTERS", "Adapter", "Farewell", "Outcome", "Panel", "adapter_of", "register"]
