package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	v2 "github.com/apache/rocketmq-clients/golang/v5/protocol/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type probed struct {
	Ms       float64 `json:"ms"`
	Attempts int     `json:"attempts"`
	UnixMs   int64   `json:"unix_ms"`
}

// raw is a connection without the client's own patience: the official client
// waits a second and more between its attempts to connect.
func raw(endpoint string) (v2.MessagingServiceClient, func(), error) {
	connection, err := grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 5 * time.Second,
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond,
				Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}}))
	if err != nil {
		return nil, nil, err
	}
	return v2.NewMessagingServiceClient(connection), func() { connection.Close() }, nil
}

func rawContext(limit time.Duration, id string) (context.Context, context.CancelFunc) {
	ctx := metadata.AppendToOutgoingContext(context.Background(),
		"x-mq-client-id", id, "x-mq-language", "GOLANG",
		"x-mq-protocol", "v2", "x-mq-client-version", "5.1.4")
	return context.WithTimeout(ctx, limit)
}

func resource(name string) *v2.Resource { return &v2.Resource{Name: name} }

func rawSend(client v2.MessagingServiceClient, topic string, id int64) error {
	ctx, cancel := rawContext(time.Second, "probe@1@0@1")
	defer cancel()
	reply, err := client.SendMessage(ctx, &v2.SendMessageRequest{
		Messages: []*v2.Message{{
			Topic: resource(topic),
			Body:  []byte("probe"),
			SystemProperties: &v2.SystemProperties{
				MessageId:         fmt.Sprintf("01%032X", id),
				MessageType:       v2.MessageType_DELAY,
				BodyEncoding:      v2.Encoding_IDENTITY,
				BornTimestamp:     timestamppb.Now(),
				DeliveryTimestamp: timestamppb.New(time.Now().Add(time.Hour)),
				BornHost:          "localhost",
			}}}})
	if err != nil {
		return err
	}
	if code := reply.GetStatus().GetCode(); code != v2.Code_OK {
		return fmt.Errorf("status %v", reply.GetStatus())
	}
	return nil
}

// rawAck is an error unless the server said OK: this client's own Ack hides
// what the server says.
func rawAck(client v2.MessagingServiceClient, topic, group string, view *rmq.MessageView) error {
	ctx, cancel := rawContext(3*time.Second, "ack@1@0@1")
	defer cancel()
	reply, err := client.AckMessage(ctx, &v2.AckMessageRequest{
		Group: resource(group), Topic: resource(topic),
		Entries: []*v2.AckMessageEntry{{MessageId: view.GetMessageId(),
			ReceiptHandle: view.GetReceiptHandle()}}})
	if err == nil && reply.GetStatus().GetCode() != v2.Code_OK {
		err = fmt.Errorf("status %v", reply.GetStatus())
	}
	return err
}

func probeCommand(flags *flag.FlagSet) func() (any, error) {
	endpoint := flags.String("endpoint", "127.0.0.1:8081", "the server")
	topic := flags.String("topic", "load", "the topic")
	limit := flags.Duration("limit", 3*time.Minute, "give up after this")
	return func() (any, error) {
		began := time.Now()
		var last error
		for attempts := 1; time.Since(began) < *limit; attempts++ {
			client, closed, err := raw(*endpoint)
			if err != nil {
				return nil, err
			}
			last = rawSend(client, *topic, time.Now().UnixNano())
			closed()
			if last == nil {
				return probed{float64(time.Since(began).Microseconds()) / 1000,
					attempts, time.Now().UnixMilli()}, nil
			}
			time.Sleep(5 * time.Millisecond)
		}
		return nil, last
	}
}
