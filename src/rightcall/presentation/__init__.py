"""The presentation in the flow: a request as the model is shown it, and what the model says in original terms."""

from rightcall.presentation.view import View, present

__all__ = ["View", "present"]
