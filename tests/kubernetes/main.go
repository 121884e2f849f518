// A Kubernetes API server for Capstan's tests: etcd, kube-apiserver and the namespace, garbage-collector,
// deployment and replicaset controllers, in one process on loopback. Its version is that of its sources, by ./build.
//
// In: nothing but a directory (-dir), which may hold the data of an earlier run. Out: one line on stdout, the path of
// an administrator's kubeconfig, once the server is ready. Then it reads commands from stdin, one a line, and answers
// each with one line; it ends with its parent, when stdin is closed.
//
//	compact    forget every revision before the current one, as happens every five minutes in production
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

var (
	dir      = flag.String("dir", "", "where data, certificates and the kubeconfig are kept; default: a temporary directory")
	policies = flag.Bool("policies", false, "serve policies that change what is admitted, as webhooks do")
	audit    = flag.String("audit", "", "a file that gets one line of JSON for each request: who asked for what; default: none")
	verbose  = flag.Bool("verbose", false, "let the parts log to stderr")
)

func main() {
	flag.Parse()
	if !*verbose {
		silence()
	}
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes for tests:", err)
		os.Exit(1)
	}
}

// silence keeps the parts from logging; even errors, of which a start is full.
func silence() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}

func run(dir string) error {
	if dir == "" {
		temporary, err := os.MkdirTemp("", "capstan-kubernetes-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	// Nothing is stopped in good order: the process ends, as in a crash, and with it everything it held.
	store, err := startStore(dir, *verbose)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}

	server, err := startServer(ctx, dir, store.endpoint, *policies, *audit)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := startControllers(ctx, server.config); err != nil {
		return fmt.Errorf("controllers: %w", err)
	}
	fmt.Println(server.kubeconfig)

	failed := make(chan error, 1)
	go func() { failed <- server.wait() }()
	finished := make(chan error, 1)
	go func() { finished <- obey(ctx, os.Stdin, store) }()
	select {
	case err := <-failed:
		return fmt.Errorf("kube-apiserver stopped: %w", err)
	case err := <-finished:
		return err
	}
}

// obey carries out the commands of the parent until it closes the stream.
func obey(ctx context.Context, commands io.Reader, store *store) error {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		switch command := lines.Text(); command {
		case "compact":
			if err := store.compact(ctx); err != nil {
				fmt.Println("failed:", err)
			} else {
				fmt.Println("compacted")
			}
		default:
			fmt.Printf("unknown command %q\n", command)
		}
	}
	return lines.Err()
}
