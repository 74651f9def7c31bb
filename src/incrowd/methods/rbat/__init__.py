"""Rule-based anonymization of transactions: items become sets of items until rules are kept."""
