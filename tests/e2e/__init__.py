"""The whole product on one real node: from `helm install` to trained models, with no part of it played."""
