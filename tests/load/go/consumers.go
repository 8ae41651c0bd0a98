package main

import (
	"context"
	"flag"
	"sync"
	"sync/atomic"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

// consumers are simple consumers of one group that take and acknowledge.
type consumers struct {
	endpoint, topic, group string
	count, loops, ackers   int
	batch                  int
	invisible              time.Duration
	clients                []rmq.SimpleConsumer
	unacknowledged         chan taken
	// Instead of the client's own acknowledgement, and what became of it; or
	// null.
	ackBy     func(*rmq.MessageView) error
	answered  func(*rmq.MessageView, error) // or nil
	ackErrors atomic.Int64
	acked     atomic.Int64
	stop      chan struct{}
	receivers sync.WaitGroup
}

type taken struct {
	client rmq.SimpleConsumer
	view   *rmq.MessageView
}

func (c *consumers) declare(flags *flag.FlagSet) {
	flags.StringVar(&c.group, "group", "load-group", "the consumer group")
	flags.IntVar(&c.count, "consumers", 4, "clients that receive")
	flags.IntVar(&c.loops, "loops", 8, "receives of each at once")
	flags.IntVar(&c.ackers, "ackers", 128, "acknowledgements at once; 0: none")
	flags.IntVar(&c.batch, "batch", 32, "messages of a receive")
	flags.DurationVar(&c.invisible, "invisible", 5*time.Minute, "lease")
}

// run receives until the end of `stop`, and says each message to `got`.
func (c *consumers) run(got func(*rmq.MessageView, time.Time)) error {
	c.stop = make(chan struct{})
	c.unacknowledged = make(chan taken, 1<<20)
	for i := 0; i < c.count; i++ {
		client, err := rmq.NewSimpleConsumer(config(c.endpoint, c.group),
			rmq.WithSimpleAwaitDuration(5*time.Second),
			rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{
				c.topic: rmq.SUB_ALL}))
		if err != nil {
			return err
		}
		if err := client.Start(); err != nil {
			return err
		}
		c.clients = append(c.clients, client)
	}
	for i := 0; i < c.ackers; i++ {
		go c.acknowledge()
	}
	for i := 0; i < c.count*c.loops; i++ {
		c.receivers.Add(1)
		go c.receive(c.clients[i%c.count], got)
	}
	return nil
}

func (c *consumers) receive(client rmq.SimpleConsumer, got func(*rmq.MessageView, time.Time)) {
	defer c.receivers.Done()
	for {
		select {
		case <-c.stop:
			return
		default:
		}
		views, err := client.Receive(context.Background(), int32(c.batch), c.invisible)
		now := time.Now()
		// This client gives "nothing to receive" as an error, too.
		if err != nil && codeOf(err) != messageNotFound {
			time.Sleep(20 * time.Millisecond)
		}
		for _, view := range views {
			got(view, now)
			if c.ackers > 0 {
				c.unacknowledged <- taken{client, view}
			}
		}
	}
}

func (c *consumers) acknowledge() {
	for one := range c.unacknowledged {
		var err error
		if c.ackBy != nil {
			err = c.ackBy(one.view)
		} else {
			err = one.client.Ack(context.Background(), one.view)
		}
		if c.answered != nil {
			c.answered(one.view, err)
		}
		if err != nil {
			c.ackErrors.Add(1)
		} else {
			c.acked.Add(1)
		}
	}
}
