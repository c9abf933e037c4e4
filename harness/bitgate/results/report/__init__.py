"""From results to what people and dashboards read: JUnit and Markdown. Needs no GPU, no HIP and no kernel. What only
words need imports no more than that: ``render`` brings the writers of documents in."""
