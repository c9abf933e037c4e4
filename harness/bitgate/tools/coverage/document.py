"""Findings of a survey of a table, as a JSON document and as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bitgate.interop import reasons
from bitgate.model import case_id

if TYPE_CHECKING:
    from bitgate.model.space.table import Table
    from bitgate.tools.coverage.survey import Survey


def build_document(table: Table, found: list[Survey], assume: list[str], top: int) -> dict[str, Any]:
    passes: list[dict[str, Any]] = []
    uncovered: list[dict[str, Any]] = []
    for survey in found:
        covered, total = survey.levels.counts()
        plan_covered, plan_total = survey.levels.counts(plan_only=True)
        passes.append(
            {
                "pass": str(survey.operation),
                "rows": len(survey.codes),
                "covered": covered,
                "total": total,
                "plan_only": {"covered": plan_covered, "total": plan_total},
                "factors": [factor.name for factor in survey.scope.factors],
                "forms": None if survey.forms is None else survey.forms.as_json(top),
            }
        )
        for ranked in survey.ranked(top):
            uncovered.append(
                {
                    "rank": ranked.rank,
                    "pass": str(survey.operation),
                    "words": survey.words(ranked.hole),
                    "factors": survey.factors_of(ranked.hole),
                    "strength": ranked.hole.strength,
                    "kind": "plan-only" if ranked.hole.plan_only else "run",
                    "share": round(ranked.weight.share, 6),
                    "expected_cases": round(ranked.weight.expected, 2),
                    "row": case_id(ranked.problem),
                    "closes": ranked.closes,
                }
            )
    uncovered.sort(key=lambda hole: hole["rank"])
    return {
        "source": table.source,
        "strength": found[0].strength,
        "assumed": list(assume),
        "not_stated": sorted(_reported(found) - table.stated - {text.partition("=")[0] for text in assume}),
        "notes": list(table.notes),
        "refused": {
            "lines": len(table.refused),
            "read": len(table.rows),
            "reasons": [reason.as_json() for reason in reasons(table.refused)],
        },
        "covered": sum(p["covered"] for p in passes),
        "total": sum(p["total"] for p in passes),
        "passes": passes,
        "uncovered": uncovered,
    }


def _reported(found: list[Survey]) -> set[str]:
    """Return the columns of these operations whose absence from a table is reported."""
    return {name for survey in found for name, column in survey.operation.space.columns.items() if column.is_reported}


def print_document(document: dict[str, Any], top: int) -> None:
    share = 100 * document["covered"] / max(1, document["total"])
    for number in document["passes"]:
        part = 100 * number["covered"] / max(1, number["total"])
        print(
            f"{number['pass']}: {number['rows']} cases cover {number['covered']} of {number['total']} possible"
            f" {document['strength']}-way combinations of {len(number['factors'])} factors ({part:.1f} %)"
        )
        if forms := number["forms"]:
            print(
                f"  of alpha, beta, D's form and compute types {forms['covered']} of {forms['total']} possible pairs"
                f" ({100 * forms['covered'] / forms['total']:.1f} %)"
            )
    if len(document["passes"]) > 1:
        print(f"together {share:.1f} %")
    if document["not_stated"]:
        print(f"left out, because the table does not state them: {', '.join(document['not_stated'])} (see --assume)")
    for note in document["notes"]:
        print(f"note: {note}")
    shown = document["uncovered"][:top]
    if closing := document["generated"]:
        part = 100 * closing["covered"] / max(1, closing["total"])
        print(
            f"wrote {closing['rows']} rows to {closing['file']}; with them {closing['covered']} covered ({part:.1f} %)"
        )
        if not any(numbers["rows"] for numbers in document["passes"]):
            return
    if not shown:
        print("no hole: every possible combination is covered")
        return
    print(f"\nholes, most important first ({len(shown)} of {len(document['uncovered'])}):")
    for hole in shown:
        kind = " [plan-only: needs gigabytes]" if hole["kind"] == "plan-only" else ""
        print(f"{hole['rank']:4}  {hole['words']}: no case{kind}")
        print(f"      closed by {hole['row']} (with it {hole['closes']} combinations)")
    _print_forms(document["passes"], top)


def _print_forms(passes: list[dict[str, Any]], top: int) -> None:
    for number in passes:
        forms = number["forms"] or {"uncovered": [], "total": 0, "covered": 0}
        if shown := forms["uncovered"][:top]:
            count = forms["total"] - forms["covered"]
            print(f"\nalpha, beta, D's form and compute types of {number['pass']} ({len(shown)} of {count}):")
        for hole in shown:
            print(f"      {hole['words']}: no case\n      closed by {hole['row']}")
