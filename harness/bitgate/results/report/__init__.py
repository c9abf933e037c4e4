"""Reports of results for people and dashboards: JUnit, Markdown, annotations. Needs no GPU, no HIP and no kernel.

A format is a subclass of ``report.Report``. ``render`` alone imports the writers of documents.
"""
