"""The command lines of google-research/ALBERT: what each of their flags is here."""
