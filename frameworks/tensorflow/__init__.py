"""TensorFlow: kubeflow.org/v1 TFJob, its roles, and TF_CONFIG."""

from .framework import FRAMEWORK

__all__ = ["FRAMEWORK"]
