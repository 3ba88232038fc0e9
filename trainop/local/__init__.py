"""The node of `trainop run`: pods become processes of this machine.

The operator is the one of a cluster, on an API server in this process (kube/memory.py). This room does what a
kubelet does there: it watches pods, runs their containers and writes what becomes of them into their status.
"""
