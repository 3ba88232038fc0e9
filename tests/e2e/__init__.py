"""The whole product on one real node: from `helm install` to trained models, with no part of it played."""

FOREIGN = "TRAINOP_E2E_KUBECONFIG"
"""Names the kubeconfig of a cluster to run the suite on, where it is not to be a node of ours."""
