"""A model's reply into calls: dialects find them, repair reads them, coercion fits them to the schema. Pure."""
