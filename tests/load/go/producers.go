package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

// producers are some clients, each with a connection of its own, and the
// messages that they send.
type producers struct {
	endpoint, topic string
	count, inFlight int
	bodyBytes       int
	clients         []rmq.Producer
}

func (p *producers) declare(flags *flag.FlagSet) {
	flags.StringVar(&p.endpoint, "endpoint", "127.0.0.1:8081", "the server")
	flags.StringVar(&p.topic, "topic", "load", "the topic")
	flags.IntVar(&p.count, "producers", 4, "clients that send")
	flags.IntVar(&p.inFlight, "in-flight", 64, "sends of each at once")
	flags.IntVar(&p.bodyBytes, "body-bytes", 256, "bytes of a body")
}

func (p *producers) start() error {
	for i := 0; i < p.count; i++ {
		client, err := rmq.NewProducer(config(p.endpoint, ""), rmq.WithTopics(p.topic))
		if err != nil {
			return err
		}
		if err := client.Start(); err != nil {
			return err
		}
		p.clients = append(p.clients, client)
	}
	return nil
}

// message has its due time in its first bytes.
func (p *producers) message(dueMs int64) *rmq.Message {
	body := make([]byte, p.bodyBytes)
	for i := copy(body, strconv.FormatInt(dueMs, 10)); i < len(body); i++ {
		body[i] = '.'
	}
	message := &rmq.Message{Topic: p.topic, Body: body}
	if dueMs > 0 {
		message.SetDelayTimestamp(time.UnixMilli(dueMs))
	}
	return message
}

type sent struct {
	Sent     int64   `json:"sent"`
	Failed   int64   `json:"failed"`
	Seconds  float64 `json:"seconds"`
	PerS     float64 `json:"per_second"`
	CPU      float64 `json:"client_cpu_seconds"`
	P50Ms    float64 `json:"p50_ms"`
	P99Ms    float64 `json:"p99_ms"`
	FirstErr string  `json:"first_error,omitempty"`
}

// run sends what `next` names until it says no. It returns a due time and
// whether there is one.
func (p *producers) run(next func() (int64, bool)) sent {
	var result sent
	var lock sync.Mutex
	var all []float64
	var threads sync.WaitGroup
	began, cpu := time.Now(), cpuSeconds()
	for i := 0; i < p.count*p.inFlight; i++ {
		threads.Add(1)
		go func(client rmq.Producer) {
			defer threads.Done()
			var took []float64
			for dueMs, ok := next(); ok; dueMs, ok = next() {
				at := time.Now()
				_, err := client.Send(context.Background(), p.message(dueMs))
				if err == nil {
					atomic.AddInt64(&result.Sent, 1)
					took = append(took, float64(time.Since(at).Microseconds())/1000)
				} else if atomic.AddInt64(&result.Failed, 1) == 1 {
					result.FirstErr = err.Error()
				}
			}
			lock.Lock()
			defer lock.Unlock()
			all = append(all, took...)
		}(p.clients[i%p.count])
	}
	threads.Wait()
	result.Seconds = time.Since(began).Seconds()
	result.PerS = float64(result.Sent) / result.Seconds
	result.CPU = cpuSeconds() - cpu
	result.P50Ms, result.P99Ms = percentile(all, 50), percentile(all, 99)
	return result
}

func sendCommand(flags *flag.FlagSet) func() (any, error) {
	var p producers
	p.declare(flags)
	seconds := flags.Float64("seconds", 10, "how long")
	warm := flags.Float64("warm-up-seconds", 3, "before that, not counted")
	delayMs := flags.Int64("delay-ms", 3600_000, "due this far ahead; 0: at once")
	spreadMs := flags.Int64("spread-ms", 3600_000, "... and spread over this time")
	return func() (any, error) {
		if err := p.start(); err != nil {
			return nil, err
		}
		var n atomic.Int64
		for_ := func(seconds float64) sent {
			end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
			return p.run(func() (int64, bool) {
				now := time.Now()
				if *delayMs == 0 {
					return 0, now.Before(end)
				}
				spread := n.Add(1) * 7919 % max(1, *spreadMs)
				return now.UnixMilli() + *delayMs + spread, now.Before(end)
			})
		}
		for_(*warm)
		fmt.Println("{\"warm\": true}") // CPU is counted from here
		return for_(*seconds), nil
	}
}

func preloadCommand(flags *flag.FlagSet) func() (any, error) {
	var p producers
	p.declare(flags)
	count := flags.Int64("count", 1_000_000, "messages")
	delayMs := flags.Int64("delay-ms", 6*3600_000, "due this far ahead")
	spreadMs := flags.Int64("spread-ms", 6*3600_000, "... and spread over this time")
	return func() (any, error) {
		if err := p.start(); err != nil {
			return nil, err
		}
		var n atomic.Int64
		fmt.Println("{\"started\": true}")
		base := time.Now().UnixMilli() + *delayMs
		return p.run(func() (int64, bool) {
			i := n.Add(1)
			return base + i*7919%max(1, *spreadMs), i <= *count
		}), nil
	}
}
