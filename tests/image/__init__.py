"""The operator's image: built from the Dockerfile without a container engine, and started as Kubernetes would."""
