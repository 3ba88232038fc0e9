"""Jobs in files: read as kubectl would, and every mistake in them with the place where it stands.

documents.py reads files, folders and stdin; nodes.py makes values of YAML and remembers where each stands;
scalars.py knows what a bare word means; schema.py holds a value against the schema of a CRD; guess.py finds what
was probably meant; checker.py asks all of them and the rules.
"""
