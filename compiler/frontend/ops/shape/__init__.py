"""Views, fresh tensors, and elements at other places."""
