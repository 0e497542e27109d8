"""The offline half of PA-Tool: a model is asked for names, and the name map is a file."""

from rightcall.alignment.ask import align, requests_for
from rightcall.alignment.files import read_name_map, write_name_map

__all__ = ["align", "read_name_map", "requests_for", "write_name_map"]
