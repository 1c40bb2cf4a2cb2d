#![no_main]

windage_fuzz::target!(procfs);
