"""Why a job is not running, or why it has stopped: evidence in, findings out. Pure; one function per cause.

answer.py holds the table of causes, in the order in which they are asked; every other file knows some of them.
"""
