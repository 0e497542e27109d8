"""Models behind the `ModelClient` port: servers, an embedded one, recordings, and a public fake."""
