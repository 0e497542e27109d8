"""Suites: public benchmarks and users' own case files, each with the rules that judge its answers.

`registry.load_suite` finds one by its name. One file a benchmark; `judging` asks the questions that mean the same
in all of them.
"""
