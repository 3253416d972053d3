"""Outcomes side by side, with intervals: the tables of a study, and two runs."""
