// Load on a server of the RocketMQ 5 protocol, by the official Go client.
//
//	load send     -endpoint H:P -topic T ...   as many as go in some seconds
//	load preload  ...                          a backlog that is due later
//	load lateness ...                          R messages due each second
//	load probe    ...                          how long until a send is taken
//	load traffic  ...                          sends and receives, for a test
//	load crowd    ...                          idle connections
//	load bad      ...                          consumers that do harm
//
// Each prints one JSON object on stdout; -h after the word lists its flags.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

var commands = map[string]func(*flag.FlagSet) func() (any, error){
	"send":     sendCommand,
	"preload":  preloadCommand,
	"lateness": latenessCommand,
	"probe":    probeCommand,
	"traffic":  trafficCommand,
	"crowd":    crowdCommand,
	"bad":      badCommand,
}

func config(endpoint, group string) *rmq.Config {
	return &rmq.Config{Endpoint: endpoint, ConsumerGroup: group,
		Credentials: &credentials.SessionCredentials{}}
}

// cpuSeconds is what this process has used.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	of := func(t syscall.Timeval) float64 {
		return float64(t.Sec) + float64(t.Usec)/1e6
	}
	return of(usage.Utime) + of(usage.Stime)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "load:", err)
	os.Exit(1)
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fail(fmt.Errorf("expected one of send, preload, lateness, probe, traffic, crowd, bad"))
	}
	// The client's own log would go to the home directory, at length.
	os.Setenv("rocketmq.client.logLevel", "error")
	if os.Getenv("rocketmq.client.logRoot") == "" {
		os.Setenv("rocketmq.client.logRoot", os.TempDir())
	}
	rmq.ResetLogger()
	rmq.EnableSsl = false
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	run := commands[os.Args[1]](flags)
	_ = flags.Parse(os.Args[2:])
	result, err := run()
	if err != nil {
		fail(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
	// A graceful stop waits for polls to end, which nothing here needs.
	time.Sleep(100 * time.Millisecond)
	os.Exit(0)
}
