"""`python -m rightcall`."""

from rightcall.cli.main import main

main()
