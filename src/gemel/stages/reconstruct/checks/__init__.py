"""Checks before anything is fitted: is this log what it says it is?"""
