"""The page of an experiment: question, table, picture, and the commands by which each row can be run by hand."""

from albert_tf.experiments.claims import verdict_lines
from albert_tf.experiments.findings import Findings
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.markdown_table import markdown_table


def make_page(findings: Findings, picture: str | None) -> str:
    """The page as Markdown.

    Args:
        findings: what the experiment came to.
        picture: its file's name beside the page; None for none.
    """
    table = findings.table
    parts = [f"# {findings.name}", f"**Question.** {findings.question}"]
    if findings.source:
        parts.append(f"**Source.** {findings.source}")
    parts.append(f"**Run.** {findings.summary}")
    parts += [f"- **{what}** {more}".rstrip() for what, more in findings.remarks()]
    parts += [table.to_markdown().rstrip("\n"), findings.note_on_errors]
    if findings.note:
        parts.append(findings.note)
    if table.verdicts:
        titles, *verdicts = verdict_lines(table.verdicts)
        told = markdown_table([titles, ["---"] * len(titles), *verdicts])
        parts += ["## Beside the paper", told.rstrip("\n"), findings.note_on_verdicts()]
    if picture is not None:
        parts.append(f"![the table as a picture]({picture})")
    parts += ["## Rows", _describe_changes(findings)]
    parts += ["## Commands", "Each row by hand, after the steps that it needs; a step that is there is not done again."]
    for run in findings.runs:
        parts.append(f"### {run.row}, seed {run.seed}")
        parts.append(f"```\n{run.commands}\n```" if run.commands else "The same steps as a row above.")
    return "\n\n".join(parts) + "\n"


def _describe_changes(findings: Findings) -> str:
    lines = [["", "changes to the base"], ["---", "---"]]
    for name, changes in findings.changes.items():
        lines.append([name, f"`{to_json(changes, ensure_ascii=False)}`" if changes else "none"])
    return markdown_table(lines).rstrip("\n")
