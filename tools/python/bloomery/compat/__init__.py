"""Other packages' interfaces on Bloomery."""
