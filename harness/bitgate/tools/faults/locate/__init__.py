"""Localization of a defect by repairs: the small edits of a red case's sources with which the case passes."""
