"""Printed algorithms: taken apart, read line by line, as statements and as steps of a card."""
