"""Servers in front of model servers."""
