def check_order(): pass
