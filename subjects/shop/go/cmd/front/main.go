// Front is what users of the shop see.
package main

import (
	"windage.dev/subjects/shop/internal/front"
	"windage.dev/subjects/shop/internal/service"
)

func main() { service.Main("front", front.Run) }
