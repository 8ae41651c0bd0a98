package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"sync/atomic"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

// event is one line of what the clients saw, in the order in which they did.
type event struct {
	What string `json:"what"` // sent, lost, received, acked, refused
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Of the message in its topic's ready queue: two of one id have two.
	Index   int64  `json:"index,omitempty"`
	Attempt int32  `json:"attempt,omitempty"`
	EarlyMs int64  `json:"early_ms,omitempty"`
	Error   string `json:"error,omitempty"`
}

type journal struct {
	lock sync.Mutex
	out  *bufio.Writer
}

func (j *journal) add(e event) {
	line, _ := json.Marshal(e)
	j.lock.Lock()
	defer j.lock.Unlock()
	_, _ = j.out.Write(append(line, '\n'))
}

type traffic struct {
	producers
	journal         journal
	delayMs         int64
	pause           time.Duration
	next            atomic.Int64
	sent, lost      atomic.Int64
	stopSending     atomic.Bool
	lock            sync.Mutex
	owed            map[string]bool // names sent and answered, not received
	seenBefore      map[string]bool // names received before their answer
	lastArrivalNano atomic.Int64
}

// sendAll goes on through whatever becomes of the server.
func (t *traffic) sendAll(client rmq.Producer, rng *rand.Rand) {
	for !t.stopSending.Load() {
		name := fmt.Sprintf("m%d", t.next.Add(1))
		message := &rmq.Message{Topic: t.topic}
		var dueMs int64
		if rng.Intn(2) == 0 {
			dueMs = time.Now().UnixMilli() + rng.Int63n(t.delayMs)
			message.SetDelayTimestamp(time.UnixMilli(dueMs))
		}
		message.Body = []byte(fmt.Sprintf("%s %d", name, dueMs))
		receipts, err := client.Send(context.Background(), message)
		if err != nil {
			t.lost.Add(1)
			t.journal.add(event{What: "lost", Name: name, Error: err.Error()})
			time.Sleep(50 * time.Millisecond)
			continue
		}
		t.sent.Add(1)
		t.journal.add(event{What: "sent", Name: name, ID: receipts[0].MessageID})
		t.lock.Lock()
		if !t.seenBefore[name] {
			t.owed[name] = true
		}
		t.lock.Unlock()
		time.Sleep(time.Duration(rng.Int63n(int64(t.pause) + 1)))
	}
}

func (t *traffic) got(view *rmq.MessageView, now time.Time) {
	var name string
	var dueMs int64
	_, _ = fmt.Sscanf(string(view.GetBody()), "%s %d", &name, &dueMs)
	e := event{What: "received", Name: name, ID: view.GetMessageId(),
		Index: view.GetOffset(), Attempt: view.GetDeliveryAttempt()}
	if early := dueMs - now.UnixMilli(); early > 0 {
		e.EarlyMs = early
	}
	t.journal.add(e)
	t.lastArrivalNano.Store(now.UnixNano())
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.owed, name)
	t.seenBefore[name] = true
}

func (t *traffic) owes() int {
	t.lock.Lock()
	defer t.lock.Unlock()
	return len(t.owed)
}

func trafficCommand(flags *flag.FlagSet) func() (any, error) {
	t := traffic{owed: map[string]bool{}, seenBefore: map[string]bool{}}
	var c consumers
	t.declare(flags)
	c.declare(flags)
	path := flags.String("journal", "", "file that all events go to")
	flags.Int64Var(&t.delayMs, "delay-ms-max", 3000, "half of all are due this far ahead")
	flags.DurationVar(&t.pause, "pause-max", 4*time.Millisecond, "after a send")
	patience := flags.Duration("patience", 90*time.Second, "for what is owed, after the end")
	seed := flags.Int64("seed", 1, "of the traffic")
	return func() (any, error) {
		file, err := os.Create(*path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		t.journal.out = bufio.NewWriter(file)
		defer t.journal.out.Flush()
		c.endpoint, c.topic = t.endpoint, t.topic
		direct, closed, err := raw(t.endpoint)
		if err != nil {
			return nil, err
		}
		defer closed()
		c.ackBy = func(view *rmq.MessageView) error {
			return rawAck(direct, c.topic, c.group, view)
		}
		c.answered = func(view *rmq.MessageView, err error) {
			e := event{What: "acked", ID: view.GetMessageId(), Index: view.GetOffset()}
			if err != nil {
				e.What, e.Error = "refused", err.Error()
			}
			t.journal.add(e)
		}
		if err := c.run(t.got); err != nil {
			return nil, err
		}
		if err := t.start(); err != nil {
			return nil, err
		}
		for i := 0; i < t.count*t.inFlight; i++ {
			go t.sendAll(t.clients[i%t.count], rand.New(rand.NewSource(*seed*1000+int64(i))))
		}
		fmt.Println("{\"started\": true}")
		// The end of stdin is the end of sending.
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		}
		t.stopSending.Store(true)
		quiet := func() bool {
			return t.owes() == 0 && len(c.unacknowledged) == 0 &&
				time.Now().UnixNano()-t.lastArrivalNano.Load() > int64(12*time.Second)
		}
		for end := time.Now().Add(*patience); !quiet() && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
		t.journal.lock.Lock()
		defer t.journal.lock.Unlock()
		return map[string]any{"sent": t.sent.Load(), "lost": t.lost.Load(),
			"acked": c.acked.Load(), "refused": c.ackErrors.Load(), "owed": t.owes()}, nil
	}
}
