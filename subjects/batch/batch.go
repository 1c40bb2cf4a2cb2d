// Windage's protocol of batch programs, in Go; docs/FORMAT.md has the rules.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

var sink int

func iteration() {
	for i := range 1000 {
		sink += i * i
	}
}

func flush() {}

func main() {
	number, err := strconv.Atoi(os.Getenv("WINDAGE_CONTROL_FD"))
	if err != nil {
		panic("WINDAGE_CONTROL_FD is not a number: " + err.Error())
	}
	control := os.NewFile(uintptr(number), "control")
	fmt.Fprintf(control, "about go %s\nready flush\n", runtime.Version())
	for lines := bufio.NewScanner(control); lines.Scan(); {
		var count int
		if lines.Text() == "flush" {
			flush()
			fmt.Fprintln(control, "flushed")
		} else if _, err := fmt.Sscanf(lines.Text(), "run %d", &count); err == nil {
			for range count {
				iteration()
			}
			fmt.Fprintln(control, "done", count)
		}
	}
}
