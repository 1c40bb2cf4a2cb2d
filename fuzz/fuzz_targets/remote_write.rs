#![no_main]

windage_fuzz::target!(remote_write);
