"""MXNet: kubeflow.org/v1 MXJob, its roles, MX_CONFIG and DMLC_*; and the MxJobs of 2017."""

from dataclasses import replace

from . import framework, legacy

FRAMEWORK = replace(framework.FRAMEWORK, dialects=legacy.DIALECTS)

__all__ = ["FRAMEWORK"]
