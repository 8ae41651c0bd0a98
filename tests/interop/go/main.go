// The official Go client against a server: one line a scenario.
//
//	go-client ENDPOINT tls|plaintext NAME[,NAME...]
//
// Prints "RESULT scenario ok|fail milliseconds note" for each.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const (
	messageNotFound     = 40401
	illegalDeliveryTime = 40012
)

var (
	endpoint, mode string
	run            = fmt.Sprintf("%08x", rand.Uint32())
	producer       rmq.Producer
)

func topicOf(name string) string { return "go-" + mode + "-" + name + "-" + run }

func config(group string) *rmq.Config {
	return &rmq.Config{Endpoint: endpoint, ConsumerGroup: group,
		// Both empty where the server lets everybody in.
		Credentials: &credentials.SessionCredentials{
			AccessKey:    os.Getenv("HOURGLASS_KEY"),
			AccessSecret: os.Getenv("HOURGLASS_SECRET")}}
}

func message(name, body string) *rmq.Message {
	return &rmq.Message{Topic: topicOf(name), Body: []byte(body)}
}

func send(message *rmq.Message) (*rmq.SendReceipt, error) {
	receipts, err := producer.Send(context.Background(), message)
	if err != nil {
		return nil, err
	}
	return receipts[0], nil
}

func codeOf(err error) int32 {
	var status *rmq.ErrRpcStatus
	if errors.As(err, &status) {
		return status.GetCode()
	}
	return 0
}

// simple is a simple consumer with a group of its own.
type simple struct {
	consumer rmq.SimpleConsumer
	arrived  time.Time
}

// filter reads "sql: condition" or tags.
func filter(text string) *rmq.FilterExpression {
	if condition, is := strings.CutPrefix(text, "sql: "); is {
		return rmq.NewFilterExpressionWithType(condition, rmq.SQL92)
	}
	return rmq.NewFilterExpression(text)
}

func newSimple(name, tags string, await time.Duration) (*simple, error) {
	consumer, err := rmq.NewSimpleConsumer(config("group-"+topicOf(name)),
		rmq.WithSimpleAwaitDuration(await),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{
			topicOf(name): filter(tags)}))
	if err != nil {
		return nil, err
	}
	return &simple{consumer: consumer}, consumer.Start()
}

// take returns `count` messages, or fewer when the time is over.
func (s *simple) take(count int, limit time.Duration, batch int32, ack bool) ([]*rmq.MessageView, error) {
	var got []*rmq.MessageView
	end := time.Now().Add(limit)
	for len(got) < count && time.Now().Before(end) {
		views, err := s.consumer.Receive(context.Background(), batch, 30*time.Second)
		// This client gives "nothing to receive" as an error.
		if err != nil && codeOf(err) != messageNotFound {
			return got, err
		}
		for _, view := range views {
			s.arrived = time.Now()
			got = append(got, view)
			if !ack {
				continue
			}
			if err := s.consumer.Ack(context.Background(), view); err != nil {
				return got, err
			}
		}
	}
	return got, nil
}

func (s *simple) takeOne() (*rmq.MessageView, error) {
	got, err := s.take(1, 8*time.Second, 16, true)
	if err == nil && len(got) != 1 {
		err = fmt.Errorf("%d messages", len(got))
	}
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

func (s *simple) takeNone(limit time.Duration, what string) error {
	got, err := s.take(1, limit, 16, true)
	if err == nil && len(got) > 0 {
		err = errors.New(what)
	}
	return err
}

func normal(s *simple) (string, error) {
	sent := message("normal", "hello")
	sent.SetTag("a")
	sent.SetKeys("k1", "k2")
	sent.AddProperty("colour", "red")
	receipt, err := send(sent)
	if err != nil {
		return "", err
	}
	one, err := s.takeOne()
	if err != nil {
		return "", err
	}
	switch {
	case string(one.GetBody()) != "hello":
		return "", errors.New("body")
	case one.GetMessageId() != receipt.MessageID:
		return "", errors.New("id")
	case one.GetTag() == nil || *one.GetTag() != "a" || len(one.GetKeys()) != 2:
		return "", errors.New("tag and keys")
	case one.GetProperties()["colour"] != "red":
		return "", errors.New("property")
	case one.GetDeliveryAttempt() != 1:
		return "", fmt.Errorf("attempt %d", one.GetDeliveryAttempt())
	}
	return "", s.takeNone(time.Second, "acknowledged, and again")
}

func delay(s *simple) (string, error) {
	due := time.UnixMilli(time.Now().UnixMilli() + 2000)
	sent := message("delay", "later")
	sent.SetDelayTimestamp(due)
	receipt, err := send(sent)
	if err != nil {
		return "", err
	}
	if receipt.RecallHandle == "" {
		return "", errors.New("no recall handle")
	}
	if _, err := s.takeOne(); err != nil {
		return "", err
	}
	late := s.arrived.Sub(due)
	if late < 0 || late > time.Second {
		return "", fmt.Errorf("%v late", late)
	}
	return fmt.Sprintf("%d ms late", late.Milliseconds()), nil
}

func recallBefore(s *simple) (string, error) {
	sent := message("recall_before", "never")
	sent.SetDelayTimestamp(time.Now().Add(1500 * time.Millisecond))
	receipt, err := send(sent)
	if err != nil {
		return "", err
	}
	id, err := producer.Recall(context.Background(), sent.Topic, receipt.RecallHandle)
	if err != nil {
		return "", err
	}
	if id != receipt.MessageID {
		return "", errors.New("recalled " + id)
	}
	return "", s.takeNone(3*time.Second, "recalled, and delivered")
}

func recallAfter(s *simple) (string, error) {
	sent := message("recall_after", "gone")
	sent.SetDelayTimestamp(time.Now().Add(500 * time.Millisecond))
	receipt, err := send(sent)
	if err != nil {
		return "", err
	}
	if _, err := s.takeOne(); err != nil {
		return "", err
	}
	_, err = producer.Recall(context.Background(), sent.Topic, receipt.RecallHandle)
	if codeOf(err) != messageNotFound {
		return "", fmt.Errorf("recall: %v", err)
	}
	return err.Error(), nil
}

func past(s *simple) (string, error) {
	began := time.Now()
	sent := message("past", "now")
	sent.SetDelayTimestamp(began.Add(-time.Hour))
	if _, err := send(sent); err != nil {
		return "", err
	}
	_, err := s.takeOne()
	return fmt.Sprintf("%d ms", time.Since(began).Milliseconds()), err
}

func overLimit(*simple) (string, error) {
	sent := message("over_limit", "no")
	sent.SetDelayTimestamp(time.Now().Add(20 * 366 * 24 * time.Hour))
	_, err := send(sent)
	if codeOf(err) != illegalDeliveryTime {
		return "", fmt.Errorf("send: %v", err)
	}
	return "", nil
}

func nack(s *simple) (string, error) {
	if _, err := send(message("nack", "again")); err != nil {
		return "", err
	}
	first, err := s.take(1, 8*time.Second, 16, false)
	if err != nil || len(first) != 1 {
		return "", fmt.Errorf("%d messages: %v", len(first), err)
	}
	began := time.Now()
	if err := s.consumer.ChangeInvisibleDuration(first[0], time.Second); err != nil {
		return "", err
	}
	second, err := s.takeOne()
	if err != nil {
		return "", err
	}
	if second.GetDeliveryAttempt() != 2 {
		return "", fmt.Errorf("attempt %d", second.GetDeliveryAttempt())
	}
	return fmt.Sprintf("again after %d ms", time.Since(began).Milliseconds()), nil
}

func tag(s *simple) (string, error) {
	for _, name := range []string{"a", "b", "c"} {
		sent := message("tag", name)
		sent.SetTag(name)
		if _, err := send(sent); err != nil {
			return "", err
		}
	}
	got, err := s.take(3, 3*time.Second, 16, true)
	if err != nil {
		return "", err
	}
	var tags []string
	for _, view := range got {
		tags = append(tags, *view.GetTag())
	}
	sort.Strings(tags)
	if strings.Join(tags, "") != "ac" {
		return "", fmt.Errorf("%v", tags)
	}
	return "", nil
}

func sql(s *simple) (string, error) {
	for _, one := range [][]string{{"a", "5"}, {"b", "20"}, {"c", "30"}, {"d", ""}} {
		sent := message("sql", one[0])
		sent.SetTag(one[0])
		if one[1] != "" {
			sent.AddProperty("price", one[1])
		}
		if _, err := send(sent); err != nil {
			return "", err
		}
	}
	got, err := s.take(2, 3*time.Second, 16, true)
	if err == nil && (len(got) != 1 || *got[0].GetTag() != "c") {
		err = fmt.Errorf("%d messages", len(got))
	}
	return "", err
}

func fifo(s *simple) (string, error) {
	for i := 0; i < 4; i++ {
		sent := message("fifo", fmt.Sprint(i))
		sent.SetMessageGroup("g")
		if _, err := send(sent); err != nil {
			return "", err
		}
	}
	order := ""
	for len(order) < 4 {
		got, err := s.take(1, 8*time.Second, 1, false)
		if err != nil || len(got) != 1 {
			return "", fmt.Errorf("after %q: %d messages: %v", order, len(got), err)
		}
		more, err := s.take(1, 200*time.Millisecond, 1, false)
		if err != nil || len(more) > 0 {
			return "", fmt.Errorf("two batches of a group at once: %v", err)
		}
		order += string(got[0].GetBody())
		if err := s.consumer.Ack(context.Background(), got[0]); err != nil {
			return "", err
		}
	}
	if order != "0123" {
		return "", errors.New(order)
	}
	return "", nil
}

func push(*simple) (string, error) {
	var mu sync.Mutex
	good := map[string]int32{}
	failed := false
	consumer, err := rmq.NewPushConsumer(config("group-"+topicOf("push")),
		rmq.WithPushAwaitDuration(2*time.Second),
		rmq.WithPushSubscriptionExpressions(map[string]*rmq.FilterExpression{
			topicOf("push"): rmq.SUB_ALL}),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{
			Consume: func(view *rmq.MessageView) rmq.ConsumerResult {
				mu.Lock()
				defer mu.Unlock()
				body := string(view.GetBody())
				if body == "0" && !failed {
					failed = true
					return rmq.FAILURE
				}
				good[body] = view.GetDeliveryAttempt()
				return rmq.SUCCESS
			}}))
	if err != nil {
		return "", err
	}
	if err := consumer.Start(); err != nil {
		return "", err
	}
	defer consumer.GracefulStop()
	began := time.Now()
	for i := 0; i < 10; i++ {
		if _, err := send(message("push", fmt.Sprint(i))); err != nil {
			return "", err
		}
	}
	for time.Since(began) < 20*time.Second {
		mu.Lock()
		done, attempt := len(good) == 10, good["0"]
		mu.Unlock()
		if done && attempt != 2 {
			return "", fmt.Errorf("attempt %d", attempt)
		}
		if done {
			return fmt.Sprintf("all after %d ms", time.Since(began).Milliseconds()), nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return "", fmt.Errorf("%v", good)
}

func begin(name, body string) (rmq.Transaction, error) {
	transaction := producer.BeginTransaction()
	_, err := producer.SendWithTransaction(context.Background(), message(name, body), transaction)
	return transaction, err
}

func transaction(s *simple) (string, error) {
	first, err := begin("transaction", "yes")
	if err != nil {
		return "", err
	}
	if err := s.takeNone(time.Second, "a half message"); err != nil {
		return "", err
	}
	if err := first.Commit(); err != nil {
		return "", err
	}
	second, err := begin("transaction", "no")
	if err != nil {
		return "", err
	}
	if err := second.RollBack(); err != nil {
		return "", err
	}
	got, err := s.take(2, 3*time.Second, 16, true)
	if err != nil || len(got) != 1 || string(got[0].GetBody()) != "yes" {
		return "", fmt.Errorf("%d messages: %v", len(got), err)
	}
	return "", nil
}

// orphan: the server asks how a forgotten transaction ended.
func orphan(s *simple) (string, error) {
	if _, err := begin("orphan", "orphan"); err != nil {
		return "", err
	}
	got, err := s.take(1, 12*time.Second, 16, true)
	if err == nil && len(got) != 1 {
		err = errors.New("never asked, or not committed")
	}
	return "", err
}

type scenario struct {
	tags  string
	await time.Duration // of its simple consumer; 0: it has none
	body  func(*simple) (string, error)
}

var scenarios = map[string]scenario{
	"normal":        {"*", 5 * time.Second, normal},
	"delay":         {"*", 5 * time.Second, delay},
	"recall_before": {"*", 3 * time.Second, recallBefore},
	"recall_after":  {"*", 5 * time.Second, recallAfter},
	"past":          {"*", 5 * time.Second, past},
	"over_limit":    {"", 0, overLimit},
	"nack":          {"*", 5 * time.Second, nack},
	"tag":           {"a || c", 2 * time.Second, tag},
	"sql":           {"sql: price BETWEEN 10 AND 99 AND TAGS <> 'b'", 2 * time.Second, sql},
	"fifo":          {"*", time.Second, fifo},
	"push":          {"", 0, push},
	"transaction":   {"*", 2 * time.Second, transaction},
	"orphan":        {"*", 2 * time.Second, orphan},
}

func play(name string) (string, error) {
	scenario := scenarios[name]
	if scenario.await == 0 {
		return scenario.body(nil)
	}
	consumer, err := newSimple(name, scenario.tags, scenario.await)
	if err != nil {
		return "", err
	}
	defer consumer.consumer.GracefulStop()
	return scenario.body(consumer)
}

func startProducer(names []string) error {
	var topics []string
	for _, name := range names {
		topics = append(topics, topicOf(name))
	}
	checker := &rmq.TransactionChecker{
		Check: func(view *rmq.MessageView) rmq.TransactionResolution {
			if string(view.GetBody()) == "orphan" {
				return rmq.COMMIT
			}
			return rmq.ROLLBACK
		}}
	var err error
	producer, err = rmq.NewProducer(config(""), rmq.WithTopics(topics...),
		rmq.WithTransactionChecker(checker))
	if err != nil {
		return err
	}
	return producer.Start()
}

func main() {
	endpoint, mode = os.Args[1], os.Args[2]
	names := strings.Split(os.Args[3], ",")
	rmq.EnableSsl = mode == "tls"
	rmq.ResetLogger()
	if err := startProducer(names); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range names {
		began := time.Now()
		note, err := play(name)
		result := "ok"
		if err != nil {
			result, note = "fail", err.Error()
		}
		fmt.Println("RESULT", name, result, time.Since(began).Milliseconds(),
			strings.ReplaceAll(note, "\n", " "))
	}
	producer.GracefulStop()
}
