"""Rewrites: schemas in the form that small models read best, each one module, with the way back."""
