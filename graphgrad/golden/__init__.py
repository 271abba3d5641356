"""Old results: record what a script's sessions returned, compare with what they return today.

``recorder`` is one file that also runs by itself where TF 1 still does; comparing needs numpy only.
"""
from .case import GoldenTestCase
from .compare import Comparison, compare
from .recorder import unrecorded
from .recording import Recording, load
from .report import Report, comparison_text, suite_table

__all__ = ["Comparison", "GoldenTestCase", "Recording", "Report", "compare", "comparison_text", "load", "suite_table",
           "unrecorded"]
