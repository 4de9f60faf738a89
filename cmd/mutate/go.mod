module github.com/permesso-crawler/permesso/cmd/mutate

go 1.26.0
