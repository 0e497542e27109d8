"""What runs came to, for people and for machines: a page, a summary in the terminal, JSON, JUnit, thresholds.

`contents.build_report` reads runs once and keeps what reports show, bounded; the others only put it into form.
"""

import rightcall.evaluation.statistics  # noqa: F401 - where the `eval` extra is missing, this says so first
