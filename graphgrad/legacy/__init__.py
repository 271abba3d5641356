"""Old TensorFlow 1 scripts on today's TensorFlow: the runner, and the names that went away."""
from .runner import activate, deactivate, run_script

__all__ = ["activate", "deactivate", "run_script"]
