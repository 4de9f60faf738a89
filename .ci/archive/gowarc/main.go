// Command gowarc reads a WARC file with the library of the National Library of Norway, with all of
// its checks, and prints the number of records of each type. It exits with 1 at the first problem.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/nlnwa/gowarc/v3"
)

func main() {
	reader, err := gowarc.NewWarcFileReader(os.Args[1], 0, gowarc.WithStrictValidation())
	if err != nil {
		log.Fatal(err)
	}
	counts := map[string]int{}
	for {
		r, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			_, err = r.WarcRecord.ValidateDigest()
		}
		if err != nil {
			log.Fatal(err)
		}
		counts[r.WarcRecord.Type().String()]++
	}
	fmt.Println(counts)
}
