"""The process: watches turn each event into a key, the queue hands keys out, workers reconcile.

No decisions are made here.
"""
