"""What in tools is hostile to small models, refused or dropped by servers, or unsafe."""
