"""TensorFlow: kubeflow.org/v1 TFJob, its roles, and TF_CONFIG; and the TfJobs of 2017."""

from dataclasses import replace

from . import framework, legacy

FRAMEWORK = replace(framework.FRAMEWORK, dialects=legacy.DIALECTS)

__all__ = ["FRAMEWORK"]
