// Checkout is what makes orders of carts and publishes them.
package main

import (
	"windage.dev/subjects/shop/internal/checkout"
	"windage.dev/subjects/shop/internal/service"
)

func main() { service.Main("checkout", checkout.Run) }
