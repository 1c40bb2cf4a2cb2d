// Catalogue is what the shop has to sell, over gRPC.
package main

import (
	"windage.dev/subjects/shop/internal/catalogue"
	"windage.dev/subjects/shop/internal/service"
)

func main() { service.Main("catalogue", catalogue.Run) }
