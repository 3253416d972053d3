"""Evaluation: rankings from scores, metrics at k, and the same by slice of the labels."""

from tailwright.evaluation.metrics import f1_by_label, metrics_at_k, sliced_metrics
from tailwright.evaluation.ranking import TopK, top_k_of_scores

__all__ = ["TopK", "f1_by_label", "metrics_at_k", "sliced_metrics", "top_k_of_scores"]
