"""Nights on a lab's machines: targets and pools, the job matrix of a workflow, selection of cases, retries. Needs no
GPU."""
