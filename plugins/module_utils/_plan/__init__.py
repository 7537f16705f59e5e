"""Types of the plan that hosts need, too. Standard library only; nothing is computed here."""
