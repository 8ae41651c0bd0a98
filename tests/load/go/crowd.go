package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	v2 "github.com/apache/rocketmq-clients/golang/v5/protocol/v2"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// waitForEnd returns when stdin ends: that is how the caller says stop.
func waitForEnd() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
	}
}

func rawReceive(client v2.MessagingServiceClient, topic, group, id string, batch int32,
	poll, invisible time.Duration) ([]*v2.Message, error) {
	ctx, cancel := rawContext(poll+5*time.Second, id)
	defer cancel()
	stream, err := client.ReceiveMessage(ctx, &v2.ReceiveMessageRequest{
		Group:              resource(group),
		MessageQueue:       &v2.MessageQueue{Topic: resource(topic)},
		FilterExpression:   &v2.FilterExpression{Type: v2.FilterType_TAG, Expression: "*"},
		BatchSize:          batch,
		InvisibleDuration:  durationpb.New(invisible),
		LongPollingTimeout: durationpb.New(poll),
	})
	if err != nil {
		return nil, err
	}
	var got []*v2.Message
	for {
		reply, err := stream.Recv()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		if message := reply.GetMessage(); message != nil {
			got = append(got, message)
		}
	}
}

func rawPut(client v2.MessagingServiceClient, topic, id string, delay time.Duration) error {
	ctx, cancel := rawContext(10*time.Second, "crowd@1@0@1")
	defer cancel()
	system := &v2.SystemProperties{MessageId: id, MessageType: v2.MessageType_NORMAL,
		BodyEncoding: v2.Encoding_IDENTITY, BornTimestamp: timestamppb.Now(),
		BornHost: "localhost"}
	if delay > 0 {
		system.MessageType = v2.MessageType_DELAY
		system.DeliveryTimestamp = timestamppb.New(time.Now().Add(delay))
	}
	reply, err := client.SendMessage(ctx, &v2.SendMessageRequest{
		Messages: []*v2.Message{{Topic: resource(topic), Body: make([]byte, 256),
			SystemProperties: system}}})
	if err == nil && reply.GetStatus().GetCode() != v2.Code_OK {
		err = fmt.Errorf("status %v", reply.GetStatus())
	}
	return err
}

type crowd struct {
	endpoint               string
	idle, active           int
	stopped                atomic.Bool
	polls, sends, failures atomic.Int64
	first                  atomic.Value
}

func (c *crowd) failed(err error) {
	if !c.stopped.Load() {
		c.failures.Add(1)
		c.first.CompareAndSwap(nil, err.Error())
	}
	time.Sleep(100 * time.Millisecond)
}

// wait polls a topic that never has anything, as clients at rest do.
func (c *crowd) wait(client v2.MessagingServiceClient, i int) {
	id := fmt.Sprintf("idle-%d@1@0@1", i)
	for !c.stopped.Load() {
		c.polls.Add(1)
		_, err := rawReceive(client, fmt.Sprintf("idle-%d", i%100), "crowd", id, 32,
			20*time.Second, time.Minute)
		if err != nil {
			c.failed(err)
		}
	}
}

// work sends one message a second.
func (c *crowd) work(client v2.MessagingServiceClient, i int) {
	time.Sleep(time.Duration(i) * time.Second / time.Duration(c.active))
	for n := 0; !c.stopped.Load(); n++ {
		err := rawPut(client, "active", fmt.Sprintf("active-%d-%d", i, n), 500*time.Millisecond)
		if err != nil {
			c.failed(err)
		}
		c.sends.Add(1)
		time.Sleep(time.Second)
	}
}

func crowdCommand(flags *flag.FlagSet) func() (any, error) {
	var c crowd
	flags.StringVar(&c.endpoint, "endpoint", "127.0.0.1:8081", "the server")
	flags.IntVar(&c.idle, "idle", 10_000, "connections with a long poll")
	flags.IntVar(&c.active, "active", 1000, "connections that send each second")
	return func() (any, error) {
		var lock sync.Mutex
		var closers []func()
		for i := 0; i < c.idle+c.active; i++ {
			client, closed, err := raw(c.endpoint)
			if err != nil {
				return nil, err
			}
			lock.Lock()
			closers = append(closers, closed)
			lock.Unlock()
			if i < c.idle {
				go c.wait(client, i)
			} else {
				go c.work(client, i-c.idle)
			}
			if i%20 == 0 {
				time.Sleep(10 * time.Millisecond) // a connection costs CPU
			}
		}
		for c.polls.Load() < int64(c.idle) || c.sends.Load() < int64(c.active) {
			time.Sleep(50 * time.Millisecond)
		}
		fmt.Println("{\"ready\": true}")
		waitForEnd()
		c.stopped.Store(true)
		for _, closed := range closers {
			closed()
		}
		first, _ := c.first.Load().(string)
		return map[string]any{"polls": c.polls.Load(), "sends": c.sends.Load(),
			"failures": c.failures.Load(), "first_failure": first}, nil
	}
}

// bad consumers: each does one kind of harm until stdin ends.
func badCommand(flags *flag.FlagSet) func() (any, error) {
	endpoint := flags.String("endpoint", "127.0.0.1:8081", "the server")
	mode := flags.String("mode", "slow", "slow, silent, poison or topics")
	count := flags.Int("count", 20_000, "messages, or topics")
	return func() (any, error) {
		client, closed, err := raw(*endpoint)
		if err != nil {
			return nil, err
		}
		defer closed()
		topic := func(i int) string {
			if *mode == "topics" {
				return fmt.Sprintf("one-of-many-%d", i)
			}
			return "bad-" + *mode
		}
		// The group, named as its topic, must be there before the messages.
		if *mode != "topics" {
			_, _ = rawReceive(client, topic(0), topic(0), "bad@1@0@1", 1, time.Second, time.Minute)
		}
		failures := putMany(client, *count, topic, *mode)
		fmt.Println("{\"ready\": true}")
		result := map[string]any{"put_failures": failures}
		var stopped atomic.Bool
		go func() { waitForEnd(); stopped.Store(true) }()
		received, attempts := 0, int32(0)
		for !stopped.Load() {
			if *mode == "topics" {
				time.Sleep(50 * time.Millisecond)
				continue
			}
			batch, invisible := int32(32), 2*time.Second
			if *mode == "slow" {
				batch, invisible = 1, time.Minute
			}
			got, _ := rawReceive(client, topic(0), topic(0), "bad@1@0@1", batch, time.Second, invisible)
			for _, message := range got {
				received++
				attempts = max(attempts, message.GetSystemProperties().GetDeliveryAttempt())
				if *mode == "slow" {
					time.Sleep(time.Second)
					ack(client, topic(0), message)
				}
			}
		}
		if *mode == "poison" {
			dead, _ := rawReceive(client, "%DLQ%"+topic(0), "undertaker", "bad@1@0@1", 32,
				3*time.Second, time.Minute)
			result["dead_letters"] = len(dead)
		}
		result["received"], result["attempts_max"] = received, attempts
		return result, nil
	}
}

func ack(client v2.MessagingServiceClient, topic string, message *v2.Message) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-mq-client-id", "bad@1@0@1")
	system := message.GetSystemProperties()
	_, _ = client.AckMessage(ctx, &v2.AckMessageRequest{Group: resource(topic),
		Topic: resource(topic), Entries: []*v2.AckMessageEntry{{
			MessageId: system.GetMessageId(), ReceiptHandle: system.GetReceiptHandle()}}})
}

func putMany(client v2.MessagingServiceClient, count int, topic func(int) string, prefix string) int64 {
	var failures, next atomic.Int64
	var threads sync.WaitGroup
	for range 64 {
		threads.Add(1)
		go func() {
			defer threads.Done()
			for i := next.Add(1) - 1; i < int64(count); i = next.Add(1) - 1 {
				if rawPut(client, topic(int(i)), fmt.Sprintf("%s-%d", prefix, i), 0) != nil {
					failures.Add(1)
				}
			}
		}()
	}
	threads.Wait()
	return failures.Load()
}
