"""Benchmarks: flat scripts that print ratios, side by side in one run; they never fail a build."""
