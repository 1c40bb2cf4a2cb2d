#![no_main]

windage_fuzz::target!(http_response);
