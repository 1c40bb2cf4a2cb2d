#![no_main]

windage_fuzz::target!(manifest);
