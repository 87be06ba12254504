"""The operators, one record each, in folders by kind."""
