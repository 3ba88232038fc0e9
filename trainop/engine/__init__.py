"""The pure core: what should happen next to a job. One policy per file; no I/O, clock, randomness or logging.

plan.py asks the questions in order; every other file answers one kind of question.
"""
