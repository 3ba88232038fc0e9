"""A real Kubernetes control plane for tests, as plain processes: no container engine, no root.

    python -m tests.cluster up      for people: runs until Ctrl-C
    the fixture `control_plane`     for tests: one for the whole run, started by the first test that asks

The modules, each using only those above it: waiting, progress, leash, build, versions, binaries, controlplane, shared,
foreground.
"""
