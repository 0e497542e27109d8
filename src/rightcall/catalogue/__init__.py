"""Finding tools in large catalogues: words, an inverted index, vectors, and their fusion. Pure; no I/O."""
