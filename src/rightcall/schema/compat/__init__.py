"""What a change of schemas does to calls that were valid before."""
