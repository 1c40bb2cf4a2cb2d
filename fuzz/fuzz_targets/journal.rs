#![no_main]

windage_fuzz::target!(journal);
