"""Simple bilevel methods: two objectives, one variable, projections."""
