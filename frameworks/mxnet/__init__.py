"""MXNet: kubeflow.org/v1 MXJob, its roles, MX_CONFIG and DMLC_*."""

from .framework import FRAMEWORK

__all__ = ["FRAMEWORK"]
