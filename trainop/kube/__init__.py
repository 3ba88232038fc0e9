"""The only room that talks to Kubernetes.

port.py says what an API server is to us, client.py is the real one, memory.py one in memory; cache.py keeps
pods and services up to date through either, act.py and report.py write what a plan says, recorder.py tells
users about it.
"""
