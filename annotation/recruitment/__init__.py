"""Where raters come from: one interface, and an adapter for each kind of channel.

Importing this package registers the adapters.
"""

from annotation.recruitment.base import ADAPTERS, Adapter, Farewell, Outcome, Panel, adapter_of, register

__all__ = ["ADAPTERS", "Adapter", "Farewell", "Outcome", "Panel", "adapter_of", "register"]
