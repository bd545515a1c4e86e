"""Endings of file names, and what each says of the text in the file."""

COMPRESSED = (".gz", ".xz", ".zst")
# Raw text, with more than text around it.
RAW_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
# Files that hold more than text, or none: read as text, their marks and commas would be words.
NOT_TEXT = (
    *(".csv", ".tsv", ".html", ".htm", ".xml", ".rtf", ".pdf", ".doc", ".docx", ".odt", ".epub"),
    *(".tar", ".tgz", ".zip", ".7z", ".bz2", ".arrow", ".feather", ".tfrecord", ".model"),
)
