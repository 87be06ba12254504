"""The record of an operator, the rules of records, and how they are run, guarded and installed."""
