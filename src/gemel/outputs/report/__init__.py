"""Evidence for people and for machines: report.html and evidence.json."""
