"""Is a call right? Structure (JSON Schema), protocol (what the request asked for), coverage. Pure."""
