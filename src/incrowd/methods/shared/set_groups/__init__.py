"""What the methods of sets share: the vote of a group, and cutting by items."""
