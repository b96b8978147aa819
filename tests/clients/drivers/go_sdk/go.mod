module clients.invalid/go_sdk

go 1.22

require github.com/openjobspec/ojs-go-sdk v0.0.0
