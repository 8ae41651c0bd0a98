package main

import (
	"errors"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

const messageNotFound = 40401

func codeOf(err error) int32 {
	var status *rmq.ErrRpcStatus
	if errors.As(err, &status) {
		return status.GetCode()
	}
	return 0
}
