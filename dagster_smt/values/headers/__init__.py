"""Values of headers, and Connect's header literals."""
