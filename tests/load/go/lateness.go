package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

type lateness struct {
	Rate       int64   `json:"rate"`
	Count      int64   `json:"count"`
	Received   int64   `json:"received"`
	Duplicates int64   `json:"duplicates"`
	Early      int64   `json:"early"`
	P50Ms      float64 `json:"p50_ms"`
	P99Ms      float64 `json:"p99_ms"`
	MaxMs      float64 `json:"max_ms"`
	EarliestMs float64 `json:"earliest_ms"`
	// From the last due time to the last message.
	BehindMs  float64 `json:"behind_ms"`
	Acked     int64   `json:"acked"`
	AckErrors int64   `json:"ack_errors"`
	CPU       float64 `json:"client_cpu_seconds"`
	Preload   sent    `json:"preload"`
	// Time that was left when everything was sent; below 0 it was too late.
	SpareMs int64 `json:"spare_ms"`
}

func dueOf(body []byte) int64 {
	end := bytes.IndexByte(body, '.')
	if end < 0 {
		end = len(body)
	}
	ms, _ := strconv.ParseInt(string(body[:end]), 10, 64)
	return ms
}

func latenessCommand(flags *flag.FlagSet) func() (any, error) {
	var p producers
	var c consumers
	p.declare(flags)
	c.declare(flags)
	rate := flags.Int64("rate", 1000, "messages due each second")
	seconds := flags.Int64("seconds", 10, "how long")
	leadMs := flags.Int64("lead-ms", 10_000, "from now to the first one's due time")
	patience := flags.Duration("patience", 30*time.Second, "after the last one's due time")
	return func() (any, error) {
		c.endpoint, c.topic = p.endpoint, p.topic
		result := lateness{Rate: *rate, Count: *rate * *seconds}
		var lock sync.Mutex
		var late []float64
		var last time.Time
		seen := map[string]bool{}
		err := c.run(func(view *rmq.MessageView, now time.Time) {
			ms := float64(now.UnixMicro())/1000 - float64(dueOf(view.GetBody()))
			lock.Lock()
			defer lock.Unlock()
			if seen[view.GetMessageId()] {
				result.Duplicates++
				return
			}
			seen[view.GetMessageId()] = true
			late = append(late, ms)
			last = now
			if ms < 0 {
				result.Early++
			}
		})
		if err != nil {
			return nil, err
		}
		if err := p.start(); err != nil {
			return nil, err
		}
		start := (time.Now().UnixMilli()+*leadMs)/1000*1000 + 1000
		var n atomic.Int64
		result.Preload = p.run(func() (int64, bool) {
			i := n.Add(1) - 1
			return start + i*1000 / *rate, i < result.Count
		})
		result.SpareMs = start - time.Now().UnixMilli()
		cpu := cpuSeconds()
		fmt.Fprintf(os.Stderr, "load: sent %d, %d ms to spare\n", result.Preload.Sent, result.SpareMs)
		time.Sleep(time.Until(time.UnixMilli(start - 200)))
		fmt.Println("{\"due\": true}") // CPU is counted from here
		end := time.UnixMilli(start + *seconds*1000).Add(*patience)
		for done := false; !done && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			lock.Lock()
			done = int64(len(late)) >= result.Preload.Sent
			lock.Unlock()
		}
		fmt.Println("{\"received\": true}")
		for i := 0; i < 100 && c.ackers > 0 && len(c.unacknowledged) > 0; i++ {
			time.Sleep(100 * time.Millisecond)
		}
		lock.Lock()
		defer lock.Unlock()
		result.Received = int64(len(late))
		result.P50Ms, result.P99Ms = percentile(late, 50), percentile(late, 99)
		result.MaxMs, result.EarliestMs = percentile(late, 100), percentile(late, 0)
		result.BehindMs = float64(last.UnixMilli() - start - *seconds*1000)
		result.Acked, result.AckErrors = c.acked.Load(), c.ackErrors.Load()
		result.CPU = cpuSeconds() - cpu
		return result, nil
	}
}
