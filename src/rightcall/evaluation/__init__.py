"""Measuring: is a call the right one, not only a valid one."""
