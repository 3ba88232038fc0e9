"""PyTorch: kubeflow.org/v1 PyTorchJob, its roles, and what torch.distributed and torchrun read."""

from .framework import FRAMEWORK as FRAMEWORK
