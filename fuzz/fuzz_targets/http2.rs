#![no_main]

windage_fuzz::target!(http2);
