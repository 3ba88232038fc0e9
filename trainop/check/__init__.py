"""The contract check of a framework: does what a folder says of itself hold, on many jobs of its kind?

target.py finds the framework that is meant; subject.py makes jobs of its kind; facts.py, schema.py, manners.py,
bootstrap.py, outcome.py, life.py, turmoil.py, elsewhere.py, cluster.py and example.py hold the checks; contract.py runs
all of them.
"""
