// Command pong sends back what comes over the socket that is its file 3, until it ends: the floor of a call.
package main

import (
	"log"
	"net"
	"os"
)

func main() {
	conn, err := net.FileConn(os.NewFile(3, "socket"))
	if err != nil {
		log.Fatal(err)
	}
	text := make([]byte, 4096)
	for {
		n, err := conn.Read(text)
		if err != nil {
			return
		}
		if _, err := conn.Write(text[:n]); err != nil {
			return
		}
	}
}
