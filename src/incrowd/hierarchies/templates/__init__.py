"""Templates of hierarchies: public classifications and code systems that many columns follow."""
