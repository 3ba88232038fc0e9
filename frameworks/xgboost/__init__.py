"""XGBoost, and LightGBM: kubeflow.org/v1 XGBoostJob, its roles, and where its tracker and its workers are."""

from .framework import FRAMEWORK as FRAMEWORK
