"""The only room that talks to Kubernetes.

port.py says what an API server is to us, client.py is the real one (over session.py, http.py and connection.py),
memory.py one in memory; follower.py lists and watches through either, jobwatch.py keeps jobs by it, cache.py pods and
services; act.py and report.py write what a plan says, recorder.py tells users about it.
"""
