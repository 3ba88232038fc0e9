"""What is wrong with an installation, and what to do about it. Nothing is changed.

examine.py looks at all of it, in the order in which one would repair it; installation.py, leases.py and rivals.py know
where to look, findings.py how to say it.
"""
