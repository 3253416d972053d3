"""The metrics as plain loops over dense lists: slow, and meant to be read beside docs/metrics.md."""

from __future__ import annotations

from math import log2

Pairs = set[tuple[int, int]]


def cut(ranking: list[int], row: int, k: int, excluded: Pairs) -> list[int]:
    """The first k ids that are neither padding nor excluded."""
    return [label for label in ranking if label != -1 and (row, label) not in excluded][:k]


def without_excluded(truth: list[list[float]], excluded: Pairs) -> list[list[float]]:
    return [
        [0.0 if (row, label) in excluded else value for label, value in enumerate(values)]
        for row, values in enumerate(truth)
    ]


def dcg(gains: list[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, start=1))


def percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


def literal_row_metrics(
    rankings: list[list[int]],
    truth: list[list[float]],
    weights: list[float] | None,
    k: int,
    excluded: Pairs,
    rows: list[int],
) -> dict[str, float]:
    """P, nDCG, R and the PS metrics at one k; means are over `rows`."""
    p = ndcg = recall = 0.0
    psp = best_psp = psdcg = best_psdcg = normed = best_normed = 0.0
    for row in rows:
        top = cut(rankings[row], row, k, excluded)
        y = truth[row]
        hits = [y[label] for label in top]
        best = sorted((value for value in y if value > 0), reverse=True)[:k]
        p += sum(hits) / k
        if not best:
            continue
        ndcg += dcg(hits) / dcg(best)
        recall += sum(hits) / sum(y)
        if weights is not None:
            gains = [weights[label] * y[label] for label in top]
            best_gains = sorted((w * v for w, v in zip(weights, y, strict=True) if v > 0), reverse=True)[:k]
            psp += sum(gains)
            best_psp += sum(best_gains)
            psdcg += dcg(gains)
            best_psdcg += dcg(best_gains)
            normed += dcg(gains) / dcg(best)
            best_normed += dcg(best_gains) / dcg(best)
    found = {"P": percent(p, len(rows)), "nDCG": percent(ndcg, len(rows)), "R": percent(recall, len(rows))}
    if weights is not None:
        found["PSP"] = percent(psp, best_psp)
        found["PSnDCG"] = percent(psdcg, best_psdcg)
        found["PSnDCG-xclib"] = percent(normed, best_normed)
    return found


def literal_label_metrics(
    rankings: list[list[int]], truth: list[list[float]], k: int, excluded: Pairs, labels: list[int]
) -> dict[str, float]:
    """F1-macro and Coverage at one k over `labels`."""
    tops = [cut(ranking, row, k, excluded) for row, ranking in enumerate(rankings)]
    f1: list[float] = []
    present = found = 0
    for label in labels:
        hits = sum(truth[row][label] for row, top in enumerate(tops) if label in top)
        predicted = sum(label in top for top in tops)
        mass = sum(values[label] for values in truth)
        if predicted or mass:
            f1.append(2 * hits / (predicted + mass))
        if mass:
            present += 1
            found += hits > 0
    return {"F1-macro": percent(sum(f1), len(f1)), "Coverage": percent(found, present)}


def literal_metrics(
    rankings: list[list[int]],
    truth: list[list[float]],
    weights: list[float] | None,
    ks: tuple[int, ...],
    excluded: Pairs,
) -> dict[str, float]:
    """What `metrics_at_k` must return."""
    truth = without_excluded(truth, excluded)
    result: dict[str, float] = {}
    for k in ks:
        found = literal_row_metrics(rankings, truth, weights, k, excluded, list(range(len(truth))))
        found |= literal_label_metrics(rankings, truth, k, excluded, list(range(len(truth[0]))))
        result |= {f"{name}@{k}": value for name, value in found.items()}
    return result


def literal_slice(
    rankings: list[list[int]],
    truth: list[list[float]],
    weights: list[float] | None,
    ks: tuple[int, ...],
    excluded: Pairs,
    labels: list[int],
) -> dict[str, float]:
    """What `sliced_metrics` must return for the slice of `labels`."""
    truth = without_excluded(truth, excluded)
    part = [[v if label in labels else 0.0 for label, v in enumerate(values)] for values in truth]
    rows = [row for row, values in enumerate(part) if any(values)]
    result: dict[str, float] = {
        "rows": len(rows),
        "labels": sum(any(values[label] for values in part) for label in labels),
    }
    for k in ks:
        tops = [cut(ranking, row, k, excluded) for row, ranking in enumerate(rankings)]
        result[f"P-part@{k}"] = percent(
            sum(part[row][label] for row, top in enumerate(tops) for label in top) / k, len(truth)
        )
        if weights is not None:
            best = [sorted((w * v for w, v in zip(weights, y, strict=True)), reverse=True)[:k] for y in truth]
            result[f"PSP-part@{k}"] = percent(
                sum(weights[label] * part[row][label] for row, top in enumerate(tops) for label in top),
                sum(sum(gains) for gains in best),
            )
        if rows:
            found = literal_row_metrics(rankings, part, weights, k, excluded, rows)
            found |= literal_label_metrics(rankings, truth, k, excluded, labels)
            result |= {f"{name}@{k}": value for name, value in found.items()}
    return result
