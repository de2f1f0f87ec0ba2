"""Headers: their values and Connect's header literals."""
