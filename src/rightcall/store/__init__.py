"""Where the event log lives."""
